package collect

import (
	"math"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// Which broker is this series? Kafka puts no broker id on its metrics, so every
// site answers differently. The resolver tries, in this order, for each scrape
// target:
//
//	label        a label that holds the id (broker_id, node_id, kafka_id)
//	app-info     the id label of Kafka's app-info bean
//	pattern      the configured label and pattern
//	pod ordinal  my-cluster-kafka-2 is broker 2, if no other numbering fits
//	host         the target's host is one broker's advertised host
//	counts       (LeaderCount, PartitionCount) fits exactly one broker
//	only one     one target, one broker
//
// What stays ambiguous stays without a broker: a verdict about the wrong broker
// would be worse than none.
type resolver struct {
	known     []BrokerInfo
	idLabel   string
	idPattern *regexp.Regexp
}

// resolve fills id, how and resolved of the targets it can place.
func (r resolver) resolve(ts []*target) {
	for _, t := range ts {
		r.byValue(t)
	}
	r.byOrdinal(ts)
	r.byHost(ts)
	r.byCounts(ts)
	r.onlyOne(ts)
}

func (t *target) place(id int32, how string) { t.id, t.how, t.resolved = id, how, true }

func (t *target) open() bool { return !t.resolved && !t.foreign }

func (r resolver) info(id int32) (BrokerInfo, bool) {
	i := slices.IndexFunc(r.known, func(b BrokerInfo) bool { return b.ID == id })
	if i < 0 {
		return BrokerInfo{}, false
	}
	return r.known[i], true
}

// byValue handles the ways that spell the id out. An id that the admin API does
// not know makes the target foreign; with no broker known, it is believed.
func (r resolver) byValue(t *target) {
	for _, way := range []struct {
		text, how string
	}{
		{labelValue(t.labels, "brokerid", "nodeid", "kafkaid", "kafkabrokerid", "kafkanodeid"), "label"},
		{t.appInfoID(), "app-info id"},
		{r.patternID(t), "configured pattern"},
	} {
		id, err := strconv.ParseInt(way.text, 10, 32)
		if err != nil {
			continue
		}
		if _, ok := r.info(int32(id)); !ok && len(r.known) > 0 {
			t.foreign = true
			return
		}
		t.place(int32(id), way.how)
		return
	}
}

var fusedAppInfo = regexp.MustCompile(`^kafka_server_app_info_client_id_([0-9]+)_start_time_ms$`)

// appInfoID is the broker id in app-info's series: a label where the exporter
// keeps it, else a part of the name (jmx_exporter's kraft example). A broker
// that hosts clients has app-infos of theirs too; those ids are not numbers.
func (t *target) appInfoID() string {
	for _, f := range t.found[auxAppInfo] {
		if m := fusedAppInfo.FindStringSubmatch(string(f.metric["__name__"])); m != nil {
			return m[1]
		}
		if v := labelValue(f.metric, "id", "clientid"); v != "" {
			if _, err := strconv.Atoi(v); err == nil {
				return v
			}
		}
	}
	return ""
}

func (r resolver) patternID(t *target) string {
	if r.idLabel == "" {
		return ""
	}
	v := labelValue(t.labels, plain(r.idLabel))
	if r.idPattern == nil {
		return v
	}
	if m := r.idPattern.FindStringSubmatch(v); m != nil {
		return m[1]
	}
	return ""
}

var (
	ordinal = regexp.MustCompile(`-([0-9]+)$`)
	// addressName is a host named after its address, as EC2 does.
	addressName = regexp.MustCompile(`^ip(-[0-9]+){4}$`)
)

// byOrdinal reads the pod's number. It holds only if no other numbering fits:
// with brokers 1, 2, 3 and pods 0, 1 (the third is down) both "id = ordinal"
// and "id = ordinal + 1" do.
func (r resolver) byOrdinal(ts []*target) {
	ids := map[*target]int32{}
	for _, t := range ts {
		if n, ok := t.ordinal(); ok && t.open() {
			ids[t] = n
		}
	}
	if len(ids) == 0 || len(r.known) == 0 || sharedOrdinal(ids) || !r.onlyIdentityFits(ids) {
		return
	}
	for t, id := range ids {
		if info, _ := r.info(id); !r.contradicts(t, info) {
			t.place(id, "pod ordinal")
		}
	}
}

// sharedOrdinal reports whether two processes carry one number at the same time
// (rack-a-1 and rack-b-1): then the number is not the id.
func sharedOrdinal(ids map[*target]int32) bool {
	for a, n := range ids {
		for b, m := range ids {
			if a != b && n == m && overlap(a, b) && !a.sameProcess(b) {
				return true
			}
		}
	}
	return false
}

func (r resolver) onlyIdentityFits(ids map[*target]int32) bool {
	fits := func(shift int32) bool {
		for _, id := range ids {
			if _, ok := r.info(id + shift); !ok {
				return false
			}
		}
		return true
	}
	if !fits(0) {
		return false
	}
	for _, a := range ids {
		for _, b := range r.known {
			// Ordinals start at 0: a shift that would need a negative one for the
			// smallest known id cannot be.
			if shift := b.ID - a; shift != 0 && r.minID() >= shift && fits(shift) {
				return false
			}
		}
	}
	return true
}

func (r resolver) minID() int32 {
	return slices.MinFunc(r.known, func(a, b BrokerInfo) int { return int(a.ID) - int(b.ID) }).ID
}

func (t *target) ordinal() (int32, bool) {
	name := labelValue(t.labels, "pod", "podname", "kubernetespodname", "k8spodname", "statefulsetkubernetesiopodname")
	if name == "" {
		name, _, _ = strings.Cut(hostOf(labelValue(t.labels, "instance")), ".")
	}
	m := ordinal.FindStringSubmatch(name)
	if m == nil || addressName.MatchString(name) {
		return 0, false
	}
	n, err := strconv.ParseInt(m[1], 10, 32)
	return int32(n), err == nil
}

// byHost compares the target's host names with the advertised ones, whole
// first, then by the first label of the name (kafka-1 = kafka-1.example.org).
func (r resolver) byHost(ts []*target) {
	for _, exact := range []bool{true, false} {
		for _, t := range ts {
			if !t.open() {
				continue
			}
			if id, ok := r.hostMatch(t, exact); ok {
				t.place(id, "advertised host")
			}
		}
	}
}

func (r resolver) hostMatch(t *target, exact bool) (int32, bool) {
	var hit []int32
	for _, b := range r.known {
		for _, h := range t.hosts() {
			if sameHost(h, b.Host, exact) {
				hit = append(hit, b.ID)
				break
			}
		}
	}
	if len(hit) != 1 {
		return 0, false
	}
	return hit[0], true
}

func (t *target) hosts() []string {
	var out []string
	for _, l := range []string{"instance", "pod", "podname", "kubernetespodname", "host", "hostname", "nodename", "node"} {
		if v := hostOf(labelValue(t.labels, l)); v != "" {
			out = append(out, strings.ToLower(v))
		}
	}
	return out
}

func hostOf(instance string) string {
	if h, _, err := net.SplitHostPort(instance); err == nil {
		return h
	}
	return instance
}

func sameHost(a, b string, exact bool) bool {
	b = strings.ToLower(b)
	if exact || net.ParseIP(a) != nil || net.ParseIP(b) != nil {
		return a == b
	}
	a, _, _ = strings.Cut(a, ".")
	b, _, _ = strings.Cut(b, ".")
	return a != "" && a == b
}

type counts struct{ leaders, partitions int }

// byCounts matches what a broker says it holds with what the metadata says it
// holds, where that pair is unique on both sides.
func (r resolver) byCounts(ts []*target) {
	byPair := map[counts][]int32{}
	for _, b := range r.known {
		if b.Leading != nil && b.Replicas != nil {
			k := counts{*b.Leading, *b.Replicas}
			byPair[k] = append(byPair[k], b.ID)
		}
	}
	seen := map[counts]int{}
	for _, t := range ts {
		if c, ok := t.counts(); ok && t.current(ts) {
			seen[c]++
		}
	}
	for _, t := range ts {
		c, ok := t.counts()
		if ok && t.open() && t.current(ts) && len(byPair[c]) == 1 && seen[c] == 1 && !taken(ts, byPair[c][0]) {
			t.place(byPair[c][0], "unique leader and partition count")
		}
	}
}

func taken(ts []*target, id int32) bool {
	return slices.ContainsFunc(ts, func(t *target) bool { return t.resolved && t.id == id && t.current(ts) })
}

func (t *target) counts() (counts, bool) {
	l, okL := t.last(diagnose.SignalLeaders)
	p, okP := t.last(auxPartitions)
	return counts{int(l.V), int(p.V)}, okL && okP
}

// contradicts reports whether the target holds exactly the partitions of
// another broker and not those of b. A restarting broker, which counts up from
// 0, contradicts nothing.
func (r resolver) contradicts(t *target, b BrokerInfo) bool {
	p, ok := t.last(auxPartitions)
	if !ok || b.Replicas == nil || *b.Replicas == int(p.V) {
		return false
	}
	return slices.ContainsFunc(r.known, func(o BrokerInfo) bool {
		return o.ID != b.ID && o.Replicas != nil && *o.Replicas == int(p.V)
	})
}

// onlyOne needs no name, but the target's size over the range must be the
// broker's: a single target may also be another cluster's.
func (r resolver) onlyOne(ts []*target) {
	if len(ts) != 1 || len(r.known) != 1 || !ts[0].open() {
		return
	}
	var most float64
	fs := ts[0].best(auxPartitions)
	for _, f := range fs {
		for _, s := range f.series.Samples {
			most = max(most, s.V)
		}
	}
	want := r.known[0].Replicas
	if len(fs) > 0 && want != nil && math.Abs(most-float64(*want)) > maxCountDrift {
		return
	}
	ts[0].place(r.known[0].ID, "only broker")
}

// maxCountDrift is how far PartitionCount may be from the metadata: the two are
// read up to a scrape interval apart, and topics come and go.
const maxCountDrift = 50

// current reports whether the target was still scraped at the end of the range,
// allowing for a few missed scrapes.
func (t *target) current(ts []*target) bool {
	var newest time.Time
	for _, x := range ts {
		if _, to := x.span(); to.After(newest) {
			newest = to
		}
	}
	_, to := t.span()
	return newest.Sub(to) <= staleAfter
}

// staleAfter is Prometheus' own lookback: a series without a sample for that
// long is gone.
const staleAfter = 5 * time.Minute
