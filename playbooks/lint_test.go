package playbooks

import (
	"testing"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

func TestBuiltInPlaybooksPassLint(t *testing.T) {
	set, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range Lint(set, diagnose.Rules()) {
		t.Error(p)
	}
}
