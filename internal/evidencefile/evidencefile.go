// Package evidencefile packs the bytes of an evidence file and unpacks them again:
// JSON as diagnose writes it, or the same gzipped. It opens no file.
package evidencefile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// Pack gzips evidence at a level of compress/gzip. The same bytes give the same
// result with one release of Go.
func Pack(data []byte, level int) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, level)
	if err != nil {
		return nil, fmt.Errorf("zip evidence: %w", err)
	}
	_, err = z.Write(data)
	if err = errors.Join(err, z.Close()); err != nil {
		return nil, fmt.Errorf("zip evidence: %w", err)
	}
	return b.Bytes(), nil
}

// Unpack returns plain evidence as it is, and gzipped evidence, known by its first
// bytes, unzipped.
func Unpack(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data, nil
	}
	return Unzip(data)
}

// Unzip returns at most one byte more than [diagnose.MaxEvidenceBytes], which
// [diagnose.Decode] then refuses.
func Unzip(data []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("unzip evidence: %w", err)
	}
	out, err := io.ReadAll(io.LimitReader(z, diagnose.MaxEvidenceBytes+1))
	if err != nil {
		return nil, fmt.Errorf("unzip evidence: %w", err)
	}
	return out, nil
}
