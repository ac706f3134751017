package evidencefile

import (
	"bytes"
	"compress/gzip"
	"testing"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

func TestPackedEvidenceUnpacks(t *testing.T) {
	want := []byte(`{"schema": 1}`)
	packed, err := Pack(want, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	for name, in := range map[string][]byte{"plain": want, "gzipped": packed} {
		if got, err := Unpack(in); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := Unpack(packed[:len(packed)-4]); err == nil {
		t.Error("a torn file is an error")
	}
	if _, err := Unzip(want); err == nil {
		t.Error("what is named gzipped must be")
	}
	if _, err := Pack(want, 99); err == nil {
		t.Error("there is no such level")
	}
}

// A small file cannot unfold to more than evidence may be.
func TestUnpackIsBounded(t *testing.T) {
	packed, err := Pack(make([]byte, 2*diagnose.MaxEvidenceBytes), gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Unpack(packed)
	if err != nil || len(got) != diagnose.MaxEvidenceBytes+1 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
