package diagnose

import (
	"strings"
	"testing"
	"time"
)

// The broker of a KIP-848 group logs no leave reason, so nobody is sent to look
// for one.
func TestKIP848AsksForTheClientsLog(t *testing.T) {
	for protocol, want := range map[string]string{"classic": "broker's log", "consumer": "log of client"} {
		l := storyOf(stalled().evidence()).losses[0]
		l.s.g.Protocol = protocol
		if got := decider("", RollingDeploy, l); !strings.Contains(got, want) {
			t.Errorf("%s: %s", protocol, got)
		}
	}
}

// A stopgap above what the broker takes would be refused.
func TestLongestSession(t *testing.T) {
	for _, tc := range []struct{ protocol, setting, value, want string }{
		{"classic", "", "", "30m0s"},
		{"consumer", "", "", "1m0s"},
		{"classic", "group.max.session.timeout.ms", "302500", "5m0s"},
		{"consumer", "group.consumer.max.session.timeout.ms", "90000", "1m30s"},
		{"consumer", "group.max.session.timeout.ms", "90000", "1m0s"},
		{"consumer", "group.consumer.max.session.timeout.ms", "4000", "4s"},
	} {
		s := storyOf(stalled().evidence())
		s.g.Protocol = tc.protocol
		s.coordinator().Settings = map[string]Setting{tc.setting: {Reading: ok("kafka: DescribeConfigs"), Value: tc.value}}
		if got := s.longestSession(); got.String() != tc.want {
			t.Errorf("%+v: %v", tc, got)
		}
	}
}

// The pause that costs a session is the session less one heartbeat interval, and
// the words say whose interval it is.
func TestStoodStillFrom(t *testing.T) {
	for _, tc := range []struct {
		protocol, beat string
		session        time.Duration
		want           string
	}{
		{"classic", "", 45 * time.Second, "42 s (the session timeout less a heartbeat interval of 3 s, the default"},
		{"consumer", "", 45 * time.Second, "40 s (the session timeout less a heartbeat interval of 5 s, the default"},
		{"consumer", "10000", 45 * time.Second, "35 s (the session timeout less a heartbeat interval of 10 s, as set"},
		{"classic", "", 3 * time.Second, "2 s or more"},
		{"classic", "", 0, "the session timeout or more"},
	} {
		l := storyOf(stalled().evidence()).losses[0]
		l.s.g.Protocol, l.m.SessionTimeoutMS = tc.protocol, int32(tc.session.Milliseconds())
		if tc.beat != "" {
			l.s.g.Settings = map[string]Setting{"consumer.heartbeat.interval.ms": {Reading: ok("kafka: DescribeConfigs"), Value: tc.beat}}
		}
		if got := l.stoodStillFrom(); !strings.HasPrefix(got, tc.want) {
			t.Errorf("%+v: %s", tc, got)
		}
	}
}

// Without the LeaveGroup counter a healthy member that was closed and one that could
// not be reached look alike.
func TestUnreachableNeedsTheLeaveCounter(t *testing.T) {
	for _, c := range corpus(t) {
		if c.name != "client-unreachable/near-closed" {
			continue
		}
		e := clone(c.ev)
		noBrokerMetrics(&e)
		p := Classify(e, DefaultLimits()).Primary()
		names := p.Class == RollingDeploy
		for _, a := range p.Alternatives {
			names = names || a.Class == RollingDeploy
		}
		if !names || p.Class == ClientUnreachable {
			t.Errorf("%s (%s): %s, alternatives %v", p.Class, p.Confidence, p.Summary, p.Alternatives)
		}
		return
	}
	t.Fatal("no such case")
}
