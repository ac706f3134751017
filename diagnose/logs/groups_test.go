package logs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/diagnose/logs"
)

// A port, a part of an address and the number in a host's name are no broker id.
func TestOnlyAnIDIsABroker(t *testing.T) {
	const line = "2031-03-01 10:00:05,120 WARN [Consumer clientId=a, groupId=g] consumer poll timeout has expired. %s\n"
	for text, want := range map[string]int32{
		"broker:9092": -1, "broker:9092/3": -1, "at broker 10.0.0.7:9092": -1, "Broker: 10.0.0.7:9092": -1, "broker=10.0.0.7:9092": -1,
		"broker1:9092": -1, "broker1.example.com:9092": -1, "kafka-broker1": -1, "broker 7-a.example.com:9092": -1, "broker 3:9092": -1,
		"node=10.0.0.7": -1, "node 10.0.0.7:9092": -1, "Node 3:9092": -1, "broker 3b": -1, "broker=broker:9092": -1, "brokers 9": -1,
		"broker 3": 3, "broker 3.": 3, "broker 3: gone": 3, "Broker: 3": 3, "broker=3, x": 3, "broker #3 at kafka-3:9092": 3,
		"Node 3 gone": 3, "node=3": 3, "(broker 3)": 3, "nodeId=3, x": 3, "broker:9092 of broker 3 (id)": 3,
	} {
		got := int32(-1)
		if n := read(t, fmt.Sprintf(line, text)).Findings[0].Node; n != nil {
			got = *n
		}
		if got != want {
			t.Errorf("%s: broker %d, want %d", text, got, want)
		}
	}
}

// An exception without a group is of the group that its client or thread spoke for.
func TestExceptionOfTheThreadBefore(t *testing.T) {
	const (
		orders  = "2031-03-01 10:00:04,000 [worker-1] INFO c.a.C - [Consumer clientId=orders-1, groupId=orders] Fetch position is at 7\n"
		billing = "2031-03-01 10:00:04,500 [worker-2] INFO c.a.C - [Consumer clientId=billing-1, groupId=billing] Fetch position is at 9\n"
		trace   = "org.apache.kafka.clients.consumer.CommitFailedException: again\n\tat a.B.c(B.java:1)\n"
		bare    = "2031-03-01 10:00:04,000 INFO [Consumer clientId=orders-1, groupId=orders] Fetch position is at 7 (c.a.C)\n"
		spring  = "2031-03-01T10:00:04.000Z  INFO 1 --- [shop] [ntainer#0-0-C-1] o.a.k.C : [Consumer clientId=orders-1, groupId=orders] Fetch position is at 7\n"
		spring2 = "2031-03-01T10:00:04.000Z  INFO 1 --- [shop] [ntainer#1-0-C-1] o.a.k.C : [Consumer clientId=billing-1, groupId=billing] Fetch position is at 7\n"
	)
	for name, c := range map[string]struct{ text, want string }{
		"only group":                   {bare + "2031-03-01 10:00:05,000 ERROR commit went wrong (c.a.W)\n" + trace, "orders"},
		"exception in the line":        {bare + "2031-03-01 10:00:05,000 ERROR org.apache.kafka.clients.consumer.CommitFailedException\n", "orders"},
		"only group, named afterwards": {trace + bare, "orders"},
		"thread":                       {orders + billing + "2031-03-01 10:00:05,000 [worker-1] ERROR c.a.W - commit went wrong\n" + trace, "orders"},
		"other thread":                 {orders + billing + "2031-03-01 10:00:05,000 [worker-2] ERROR c.a.W - CommitFailedException\n", "billing"},
		"thread of nobody":             {orders + billing + "2031-03-01 10:00:05,000 [main] ERROR c.a.W - commit went wrong\n" + trace, ""},
		"no thread, two groups":        {bare + billing + "2031-03-01 10:00:05,000 ERROR commit went wrong (c.a.W)\n" + trace, ""},
		"trace of its line":            {billing + bare + trace, "orders"},
		"spring":                       {spring + spring2 + "2031-03-01T10:00:05.000Z ERROR 1 --- [shop] [ntainer#0-0-C-1] c.a.W : commit went wrong\n" + trace, "orders"},
		"client":                       {billing + bare + "2031-03-01 10:00:05,000 ERROR clientId=orders-1 CommitFailedException\n", "orders"},
		"json": {billing + `{"thread":"w","message":"[Consumer clientId=orders-1, groupId=orders] Fetch position"}` + "\n" +
			`{"thread":"w","message":"commit went wrong","stack_trace":"org.apache.kafka.clients.consumer.CommitFailedException: again"}` + "\n", "orders"},
	} {
		got := read(t, c.text)
		if len(got.Findings) != 1 || got.Findings[0].Kind != diagnose.LogCommitFailed || got.Findings[0].Group != c.want {
			t.Errorf("%s: %+v, want group %q", name, got.Findings, c.want)
		}
	}
	d, _ := classify(t, bare+"2031-03-01 10:00:05,000 ERROR commit went wrong (c.a.W)\n"+trace)
	if s := d.Primary().Subject; s != "group orders" {
		t.Errorf("subject %q", s)
	}
}

// A log of many groups is answered with a few, and with how many there are; one that
// is asked for is judged however late it comes.
func TestManyGroups(t *testing.T) {
	const groups = 3000
	var b strings.Builder
	for i := range groups {
		fmt.Fprintf(&b, "2031-03-01 10:00:05,120 WARN [Consumer clientId=c%d, groupId=g%d] consumer poll timeout has expired.\n", i, i)
	}
	d, e := classify(t, b.String())
	if e.LogText.Groups != groups || len(d.Findings) != 20 {
		t.Errorf("%d groups, %d findings", e.LogText.Groups, len(d.Findings))
	}
	if m := strings.Join(d.Primary().Missing, "; "); !strings.Contains(m, "3,000 groups") || !strings.Contains(m, "480 verdicts more") || !strings.Contains(m, "2,500 lines did not fit") {
		t.Errorf("missing: %s", m)
	}
	late, err := logs.Read(strings.NewReader(b.String()), logs.Options{Now: testNow, Group: "g2999"})
	if err != nil {
		t.Fatal(err)
	}
	asked := logs.Evidence(late, testNow)
	asked.Target.Group = "g2999"
	if d := diagnose.Classify(asked, diagnose.DefaultLimits()); len(d.Findings) != 1 || d.Primary().Class != diagnose.PollInterval || d.Primary().Subject != "group g2999" {
		t.Errorf("%+v", d.Findings)
	}
}
