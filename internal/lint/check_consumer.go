package lint

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/kafka-oncall/kafka-oncall/internal/sizing"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

const (
	session   = "session.timeout.ms"
	heartbeat = "heartbeat.interval.ms"
	interval  = "max.poll.interval.ms"
	records   = "max.poll.records"
	request   = "request.timeout.ms"
	static    = "group.instance.id"
)

// consumer looks at the timeouts of a group member.
func (c *checker) consumer(s scope) {
	worker := s.kind == Connect && s.label == ""
	if !worker && s.first("group.id", static, session, heartbeat, interval, records, "group.protocol", "auto.offset.reset", "enable.auto.commit", "application.id") == nil && c.o.PerRecord == 0 {
		return
	}
	if s.kind == Connect && s.label == "consumer" && s.first(session, heartbeat, interval, records, static, "group.protocol") == nil {
		return // sink tasks with nothing of their own
	}
	if strings.EqualFold(s.text("group.protocol"), "consumer") {
		c.protocol(s)
	} else {
		c.heartbeats(s)
		c.sessionBounds(s)
		c.sessionLength(s, worker)
	}
	c.requests(s)
	if worker {
		return
	}
	c.fixedMember(s)
	c.pollBudget(s)
}

// protocol looks at a member of a KIP-848 group, whose timeouts are the
// broker's.
func (c *checker) protocol(s scope) {
	if v := c.o.Version; v.Before(3, 7) {
		c.add(Error, s.set["group.protocol"], note{check: "group-protocol", message: fmt.Sprintf("Kafka %s has no group.protocol=consumer: it came with 3.7 as a preview and is ready from 4.0", v), source: "KIP-848"})
		return
	}
	for _, name := range []string{session, heartbeat, "partition.assignment.strategy"} {
		x := s.set[name]
		if x == nil {
			continue
		}
		fix := "delete the line; consumer.session.timeout.ms and consumer.heartbeat.interval.ms are settings of the group (kafka-configs.sh --entity-type groups), with bounds at the broker"
		if name == "partition.assignment.strategy" {
			fix = "delete the line; group.remote.assignor picks the broker's assignor"
		}
		c.add(Error, x, note{check: "group-protocol", message: "with group.protocol=consumer " + c.sparedBy(s) + ": the broker decides", fix: fix, source: "KIP-848; measured on kafka-clients 3.9.2 and 4.4.0, librdkafka 2.16"})
	}
}

// sparedBy says what the reader of the file does with a key that is the broker's.
func (c *checker) sparedBy(s scope) string {
	switch {
	case s.kind == Librdkafka:
		return "librdkafka refuses to start"
	case c.o.Version.Before(4, 0):
		return fmt.Sprintf("a client of %s ignores it", c.o.Version)
	case c.o.Version.Known():
		return fmt.Sprintf("a client of %s refuses to start", c.o.Version)
	default:
		return "the client refuses to start (Kafka 4.x) or ignores it (3.9)"
	}
}

// heartbeats wants three of them in a session timeout.
func (c *checker) heartbeats(s scope) {
	at := s.first(heartbeat, session)
	if at == nil || s.unsure(heartbeat, session) {
		return
	}
	beat, sess := s.number(heartbeat, c.o.Version), s.number(session, c.o.Version)
	held, of := c.heldSession(sess)
	limit := int64(sizing.MaxHeartbeat(float64(held)))
	sum := fmt.Sprintf("%s of %s ÷ 3 = %s, and %s is %s", session, of, millis(limit), heartbeat, millis(beat))
	fix := fmt.Sprintf("%s=%d or less", heartbeat, limit)
	if limit < 1 {
		fix = ""
	}
	const source = "KIP-62; class org.apache.kafka.clients.consumer.internals.Heartbeat"
	switch {
	case beat < 0:
		c.add(Error, at, note{check: "heartbeat-ratio", message: "the client refuses to start: a heartbeat interval is not negative", source: source + " (measured on 4.4.0)"})
	case beat <= limit:
	case sess < held: // a unit forgotten: whether the client starts is no question yet
		c.add(Warning, at, note{check: "heartbeat-ratio", message: fewBeats + sum, fix: fix, source: source})
	case beat >= sess && s.kind == Librdkafka:
		c.add(Error, at, note{check: "heartbeat-ratio", message: "no heartbeat is sent within a session, so the member is thrown out again and again: " + sum, fix: fix, source: "librdkafka 2.16 accepts it (measured)"})
	case beat >= sess:
		c.add(Error, at, note{check: "heartbeat-ratio", message: "the client refuses to start, a heartbeat must come within the session: " + sum, fix: fix, source: source + " (measured on 4.4.0)"})
	default:
		c.add(Warning, at, note{check: "heartbeat-ratio", message: fewBeats + sum, fix: fix, source: source})
	}
}

const fewBeats = "fewer than 3 heartbeats fit a session, so one or two lost ones cost the membership: "

// leastSession is Kafka's default of group.min.session.timeout.ms. What is below
// it was meant in seconds, or has a unit that is not read.
const leastSession = 6000

// heldSession is the session timeout that a heartbeat is held against, and its
// words. Where the broker refuses the file's, which the bounds say, it is the one
// that the file will have once that is mended.
func (c *checker) heldSession(sess int64) (int64, string) {
	b := c.o.Bounds
	switch {
	case sess > b.MaxMS:
		return b.MaxMS, millis(b.MaxMS) + ", the most that the broker allows,"
	case sess < b.MinMS && sess < leastSession:
		held := max(b.MinMS, 45000)
		return held, millis(held) + ", which the broker allows,"
	}
	return sess, millis(sess)
}

// sessionBounds holds the session timeout against the broker's limits.
func (c *checker) sessionBounds(s scope) {
	x := s.set[session]
	if x == nil || s.unsure(session) {
		return
	}
	n, b := s.number(session, c.o.Version), c.o.Bounds
	from := "Kafka's defaults"
	if b.From != "" {
		from = b.From
	}
	const source = "class GroupCoordinator: error 26 INVALID_SESSION_TIMEOUT"
	switch {
	case n < b.MinMS:
		fix := fmt.Sprintf("%s=%d or more", session, max(b.MinMS, 45000))
		if n >= 6 && n <= 1800 {
			fix += "; it is in milliseconds"
		}
		c.add(Error, x, note{check: "session-bounds", message: fmt.Sprintf("%s is below group.min.session.timeout.ms of the broker, %s (%s): the member cannot join", millis(n), millis(b.MinMS), from), fix: fix, source: source})
	case n > b.MaxMS:
		c.add(Error, x, note{check: "session-bounds", message: fmt.Sprintf("%s is above group.max.session.timeout.ms of the broker, %s (%s): the member cannot join", millis(n), millis(b.MaxMS), from), fix: fmt.Sprintf("%s=%d or less", session, b.MaxMS), source: source})
	}
}

// sessionLength weighs the session timeout against pauses and the poll limit.
func (c *checker) sessionLength(s scope, worker bool) {
	at := s.first(session, interval)
	if at == nil || s.unsure(session, interval) {
		return
	}
	sess, beat, poll := s.number(session, c.o.Version), s.number(heartbeat, c.o.Version), s.number(interval, c.o.Version)
	if s.set[session] != nil && sess >= min(c.o.Bounds.MinMS, leastSession) {
		pause := int64(sizing.PauseNeeded(float64(sess), float64(beat)))
		switch {
		case sess < 10000:
			c.add(Advice, s.set[session], note{check: "session-length", message: fmt.Sprintf("a pause of %s − %s = %s (garbage collection, CPU throttling) can cost the membership", millis(sess), millis(beat), millis(pause)), fix: "45 s is Kafka's default since 3.0", source: "KIP-735"})
		case sess > 300000:
			c.add(Advice, s.set[session], note{check: "session-length", message: fmt.Sprintf("a process that died keeps its partitions unread for %s", millis(sess)), source: "KIP-62"})
		}
	}
	if worker || poll <= 0 || sess <= poll {
		return
	}
	if s.kind == Librdkafka {
		c.add(Error, at, note{check: "session-poll", message: fmt.Sprintf("librdkafka refuses to start: %s (%s) must be at least %s (%s)", interval, millis(poll), session, millis(sess)), source: "librdkafka 2.16 (measured)"})
		return
	}
	c.add(Warning, at, note{check: "session-poll", message: fmt.Sprintf("%s (%s) is above %s (%s): a process that died is noticed later than one that is slow, and a static member later still", session, millis(sess), interval, millis(poll)), fix: fmt.Sprintf("%s below %s", session, interval), source: "KIP-62"})
}

// requests looks at the time a request may take.
func (c *checker) requests(s scope) {
	wait, timeout := "fetch.max.wait.ms", request
	if s.kind == Librdkafka {
		wait, timeout = "fetch.wait.max.ms", "socket.timeout.ms"
	}
	if at := s.first(wait, timeout); at != nil && !s.unsure(wait, timeout) {
		w, t := s.number(wait, c.o.Version), s.number(timeout, c.o.Version)
		switch {
		case s.kind == Librdkafka:
			// librdkafka adds the wait to the timeout of its fetches.
		case w > 0 && t > 0 && w >= t:
			c.add(Error, at, note{check: "request-timeout", message: fmt.Sprintf("a fetch of an idle topic is answered after %s (%s) and given up after %s (%s): it never comes back, and each costs the connection", millis(w), wait, millis(t), timeout), fix: fmt.Sprintf("%s=%d", wait, min(500, t/2)), source: "classes NetworkClient, Fetcher"})
		case w > 120000:
			c.add(Warning, at, note{check: "request-timeout", message: fmt.Sprintf("%s of %s: a fetch session that is silent for more than 120 s may be thrown out by anybody", wait, millis(w)), source: "class FetchSessionCache, constant of 120 s"})
		}
	}
	if x := s.set[request]; x != nil && s.kind != Librdkafka && !s.unsure(request, session) {
		if t := s.number(request, c.o.Version); t > 0 && t < 5000 {
			c.add(Warning, x, note{check: "request-timeout", message: fmt.Sprintf("%s: a coordinator that is busy for that long loses the request, and the retry makes it busier", millis(t)), fix: "30 s is Kafka's default", source: "class NetworkClient"})
		}
	}
}

// fixedMember says what static membership costs.
func (c *checker) fixedMember(s scope) {
	x := s.set[static]
	if x == nil {
		return
	}
	if strings.TrimSpace(x.Value) == "" {
		return
	}
	if v := c.o.Version; v.Before(2, 3) {
		c.add(Error, x, note{check: "static-member", message: fmt.Sprintf("Kafka %s has no static members: they came with 2.3", v), source: "KIP-345"})
	}
	if !x.filledLater() {
		c.add(Advice, x, note{check: "static-member", message: "this id must be another one in every process: two processes with one id throw each other out (FENCED_INSTANCE_ID)", fix: "have the deployment fill it in, for example with the pod's name", source: "KIP-345"})
	}
	if s.unsure(session, interval) || strings.EqualFold(s.text("group.protocol"), "consumer") {
		return
	}
	sess, poll := s.number(session, c.o.Version), s.number(interval, c.o.Version)
	c.add(Advice, x, note{check: "static-member", message: fmt.Sprintf(
		"a static member sends no LeaveGroup: a restart must be over within %s (%s), a process that is gone is noticed after the same, and one that polls too late after %s + %s = %s",
		millis(sess), session, millis(poll), millis(sess), millis(poll+sess)), source: "KIP-345; measured: drop after the poll limit and a session timeout"})
}

// pollBudget holds max.poll.records × the time of a record against the limit.
func (c *checker) pollBudget(s scope) {
	if c.o.PerRecord <= 0 || s.unsure(records, interval) {
		return
	}
	at := s.first(records, interval, "group.id", "application.id")
	each, limit := c.o.PerRecord.Seconds(), float64(s.number(interval, c.o.Version))/1000
	if limit <= 0 {
		return // said by the bounds
	}
	n, fit := float64(s.number(records, c.o.Version)), sizing.FitRecords(limit, each)
	name := playbooks.Count(int(n), "record")
	if s.kind == Librdkafka {
		// Its classic consumer hands out one message a call.
		n, name = 1, "1 message a call"
	}
	if n < 1 {
		return // said by the bounds
	}
	took := n * each
	sum := fmt.Sprintf("%s × %s = %s, %s of %s = %s", name, span(each), span(took), percent(took/limit), interval, span(limit))
	fits := fmt.Sprintf("%s would stay within half of it (%s ÷ 2 ÷ %s)", playbooks.Count(int(fit), "record"), span(limit), span(each))
	fix := fmt.Sprintf("%s=%.0f: it stays within half of %s (%s ÷ 2 ÷ %s)", records, fit, interval, span(limit), span(each))
	if fit < 1 || s.kind == Librdkafka {
		// One record a poll: a longer limit for all of a batch could be more than
		// Kafka's int holds.
		fix = fmt.Sprintf("%s=%.0f or more (%s × 2), or take the work off the thread that polls", interval, math.Ceil(2*each*1000), span(each))
		if n > 1 {
			fix = fmt.Sprintf("%s=1 and ", records) + fix
		}
	}
	n1 := note{check: "poll-budget", source: "KIP-62; half of the limit is kept for slow batches"}
	switch {
	case took > limit:
		n1.message, n1.fix = "a full batch takes longer than the group allows, and the member leaves in the middle of it: "+sum, fix
		c.add(Error, at, n1)
	case took > limit*sizing.PollShare:
		n1.message, n1.fix = "a full batch takes more than half of what the group allows; one slow call makes it leave: "+sum, fix
		c.add(Warning, at, n1)
	case s.kind == Librdkafka:
		n1.message = "fits: " + sum + ". If you consume in batches, all of a batch counts"
		c.add(Advice, at, n1)
	default:
		n1.message = "fits: " + sum + "; " + fits
		c.add(Advice, at, n1)
	}
}

// span writes a time whose factors a reader multiplies: below a second with four
// digits, and never 0 for what is more.
func span(seconds float64) string {
	digits := func(n float64) string { return strconv.FormatFloat(n, 'g', 4, 64) }
	switch {
	case seconds <= 0 || seconds >= 0.9999:
		return playbooks.Seconds(seconds)
	case seconds < 1e-3:
		return digits(seconds*1e6) + " µs"
	default:
		return digits(seconds*1e3) + " ms"
	}
}

func percent(share float64) string {
	if share > 0 && share < 0.005 {
		return "less than 1 %"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

// producer looks at the one sum that a producer refuses.
func (c *checker) producer(s scope) {
	const delivery, linger = "delivery.timeout.ms", "linger.ms"
	x := s.set[delivery]
	if x == nil || s.kind == Librdkafka || s.unsure(delivery, linger, request) {
		return
	}
	d, l, r := s.number(delivery, c.o.Version), s.number(linger, c.o.Version), s.number(request, c.o.Version)
	if s.set[linger] == nil && (!c.o.Version.Known() || c.o.Version.Before(4, 0)) {
		l = 0 // 5 ms by default only since 4.0 (ConfigDef of 3.9 and 4.0)
	}
	if d >= 0 && d < l+r {
		c.add(Error, x, note{check: "request-timeout", message: fmt.Sprintf("the producer refuses to start: %s (%s) is below %s + %s = %s + %s = %s", delivery, millis(d), linger, request, millis(l), millis(r), millis(l+r)), fix: fmt.Sprintf("%s=%d or more", delivery, l+r), source: "class KafkaProducer, KIP-91 (measured on 3.9.2 and 4.4.0)"})
	}
}
