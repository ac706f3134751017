package playbooks

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// TestTheLeakIsFoundInTheRequestLog runs the command of leaking-client over request
// logs in the two formats that brokers write. The lines of testdata/request-log were
// made by each version's own classes (RequestHeader and FetchRequest up to 2.7,
// RequestConvertToJson since 2.8, KIP-673). In each are a client that goes on in its
// session, one that lost its session once, four instances of one client id, one that
// a full cache refuses again and again, one without sessions, and two that open one
// session after the other.
func TestTheLeakIsFoundInTheRequestLog(t *testing.T) {
	command := commandOf(t, diagnose.LeakingClient, "find-the-client")
	logs, err := filepath.Glob("testdata/request-log/*.log")
	if err != nil || len(logs) < 5 {
		t.Fatalf("request logs: %v, %v", logs, err)
	}
	for _, name := range logs {
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "kafka-request.log"), text, 0o600); err != nil {
				t.Fatal(err)
			}
			sh := exec.Command("sh", "-c", command)
			sh.Dir = dir
			out, err := sh.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			var got []string
			for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
				f := strings.Fields(line)
				got = append(got, f[0]+" "+f[1]+" "+f[len(f)-1])
			}
			want := []string{
				"6 nightly-export-1 10.0.0.5:9092-10.0.7.40:51040-10",
				"3 old 10.0.0.5:9092-10.0.7.41:51041-11",
			}
			if !slices.Equal(got, want) {
				t.Errorf("found\n%s", out)
			}
		})
	}
}

func commandOf(t *testing.T, class diagnose.Class, id string) string {
	t.Helper()
	set, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	book, _ := set.Show(class)
	for _, s := range book.Steps {
		if s.ID == id {
			return s.Command
		}
	}
	t.Fatalf("%s has no step %s", class, id)
	return ""
}
