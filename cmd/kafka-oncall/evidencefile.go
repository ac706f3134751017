package main

import (
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/internal/evidencefile"
)

// loadEvidence reads an evidence file: JSON, the same gzipped (recognised by
// its content), or a folder that holds evidence.json or evidence.json.gz.
func loadEvidence(name string) (diagnose.Evidence, error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		found := ""
		for _, f := range []string{"evidence.json", "evidence.json.gz"} {
			if _, err := os.Stat(filepath.Join(name, f)); err == nil {
				found = filepath.Join(name, f)
			}
		}
		if found == "" {
			return diagnose.Evidence{}, fmt.Errorf("the folder holds no evidence.json and no evidence.json.gz")
		}
		name = found
	}
	data, err := readBounded(name, diagnose.MaxEvidenceBytes)
	if err != nil {
		return diagnose.Evidence{}, fmt.Errorf("read evidence: %s", reason(err))
	}
	if data, err = evidencefile.Unpack(data); err != nil {
		return diagnose.Evidence{}, err
	}
	return diagnose.Decode(data)
}

// saveEvidence writes evidence so that replay gives the same verdict. A name
// that ends in .gz is gzipped. The file is for its owner: group and host names
// are in it.
func saveEvidence(name string, e diagnose.Evidence) error {
	data, err := diagnose.Encode(e)
	if err != nil {
		return err
	}
	if strings.HasSuffix(name, ".gz") {
		if data, err = evidencefile.Pack(data, gzip.DefaultCompression); err != nil {
			return err
		}
	}
	if err := os.WriteFile(name, data, 0o600); err != nil {
		return fmt.Errorf("record evidence: %s", reason(err))
	}
	return nil
}
