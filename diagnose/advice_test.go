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

// The interval that bounds the pause is the set one where a source shows it, else the
// longest that is likely; both say where they are from.
func TestLongestHeartbeat(t *testing.T) {
	for _, tc := range []struct {
		protocol, beat string
		session        time.Duration
		want, by       string
	}{
		{"classic", "", 45 * time.Second, "15 s", "a third"},
		{"classic", "", 10 * time.Second, "3.3 s", "a third"},
		{"classic", "", 6 * time.Second, "3 s", "the clients' default"}, // the session shortened, heartbeat.interval.ms left alone
		{"classic", "", 3 * time.Second, "1 s", "a third"},
		{"classic", "9000", 45 * time.Second, "15 s", "a third"}, // a setting of other protocols
		{"consumer", "", 45 * time.Second, "15 s", "5 s by default"},
		{"consumer", "5000", 45 * time.Second, "5 s", "the setting of the group"},
		{"consumer", "60000", 45 * time.Second, "15 s", "a third"}, // cannot be: longer than the session
	} {
		l := storyOf(stalled().evidence()).losses[0]
		l.s.g.Protocol, l.m.SessionTimeoutMS = tc.protocol, int32(tc.session.Milliseconds())
		if tc.beat != "" {
			l.s.g.Settings = map[string]Setting{"consumer.heartbeat.interval.ms": {Reading: ok("kafka: DescribeConfigs"), Value: tc.beat}}
		}
		if got, by := l.longestHeartbeat(); seconds(got) != tc.want || !strings.Contains(by, tc.by) {
			t.Errorf("%+v: %s (%s)", tc, seconds(got), by)
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
