package logs

import (
	"strconv"
	"strings"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// keeper counts lines that mean the same as one finding.
type keeper struct {
	most int
	// group has room for as many again.
	group   string
	asked   int
	index   map[string]int
	all     []diagnose.LogFinding
	dropped int64
}

// key is what a finding is counted under.
func key(f diagnose.LogFinding) string {
	node := int32(-1)
	if f.Node != nil {
		node = *f.Node
	}
	if f.Kind == diagnose.LogFetchTransport {
		f.Member = "" // a session id, another one each time
	}
	return strings.Join([]string{string(f.Kind), f.By, f.Group, f.Member, f.Client, f.Instance, strconv.Itoa(int(node)), f.Detail}, "\x00")
}

// add counts a finding. It returns the place of a new one, whose sample the
// caller adds; nil for one that is known or has no room.
func (k *keeper) add(f diagnose.LogFinding) *diagnose.LogFinding {
	if k.index == nil {
		k.index = map[string]int{}
	}
	id := key(f)
	i, ok := k.index[id]
	if !ok {
		mine := k.group != "" && f.Group == k.group
		if mine && k.asked >= k.most || !mine && len(k.all)-k.asked >= k.most {
			k.dropped++
			return nil
		}
		if mine {
			k.asked++
		}
		k.index[id] = len(k.all)
		k.all = append(k.all, f)
		return &k.all[len(k.all)-1]
	}
	x := &k.all[i]
	x.Count++
	x.Low, x.High = min(x.Low, f.Low), max(x.High, f.High)
	if f.First.IsZero() {
		return nil
	}
	if x.First.IsZero() || f.First.Before(x.First) {
		x.First = f.First
	}
	if f.Last.After(x.Last) {
		x.Last = f.Last
	}
	return nil
}

func (k *keeper) into(t *diagnose.LogText) {
	t.Findings, t.Dropped = k.all, k.dropped
	for _, f := range k.all {
		if f.First.IsZero() {
			continue
		}
		if t.From.IsZero() || f.First.Before(t.From) {
			t.From = f.First
		}
		if f.Last.After(t.To) {
			t.To = f.Last
		}
	}
}
