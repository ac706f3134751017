package bot

import (
	"strings"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

func TestAlertToThread(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t).start()
		defer r.stop()
		a := burst("3")
		if code := r.post(webhook(a)); code != 200 {
			t.Fatalf("webhook answered %d", code)
		}
		pass(2 * time.Second)
		r.wantThread("")
	})
}

var _ = strings.Contains
var _ = diagnose.Quiet
