package promstore

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// Loaded says what [Store.Load] read.
type Loaded struct {
	Samples     int
	First, Last time.Time
}

// Load reads lines `series value unix_ms`, for example
//
//	kafka_server_replicamanager_leadercount{instance="b1"} 4 1796001144660
//
// Empty lines and lines that start with # are skipped. The extra labels are put
// on every series, over those in the file. An error names the line.
func (s *Store) Load(r io.Reader, extra ...labels.Label) (Loaded, error) {
	var sum Loaded
	known := map[string]labels.Labels{}
	p := parser.NewParser(parser.Options{})
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 64<<10), 1<<20)
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(sc.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, pt, err := splitLine(line)
		if err != nil {
			return sum, fmt.Errorf("line %d: %w", n, err)
		}
		lset, ok := known[name]
		if !ok {
			if lset, err = p.ParseMetric(name); err != nil {
				return sum, fmt.Errorf("line %d: read series: %w", n, err)
			}
			lset = withLabels(lset, extra)
			known[name] = lset
		}
		t := time.UnixMilli(pt.t).UTC()
		s.Append(lset, t, pt.v)
		sum.add(t)
	}
	if err := sc.Err(); err != nil {
		return sum, fmt.Errorf("read samples: %w", err)
	}
	return sum, nil
}

func (l *Loaded) add(t time.Time) {
	l.Samples++
	if l.First.IsZero() || t.Before(l.First) {
		l.First = t
	}
	if t.After(l.Last) {
		l.Last = t
	}
}

// splitLine cuts from the end, because label values may hold spaces.
func splitLine(line string) (string, point, error) {
	i := strings.LastIndexByte(line, ' ')
	j := strings.LastIndexByte(line[:max(i, 0)], ' ')
	if j <= 0 {
		return "", point{}, fmt.Errorf("want `series value unix_ms`")
	}
	t, err := strconv.ParseInt(line[i+1:], 10, 64)
	if err != nil {
		return "", point{}, fmt.Errorf("read time in ms: %w", err)
	}
	v, err := strconv.ParseFloat(line[j+1:i], 64)
	if err != nil {
		return "", point{}, fmt.Errorf("read value: %w", err)
	}
	return strings.TrimSpace(line[:j]), point{t: t, v: v}, nil
}

func withLabels(lset labels.Labels, extra []labels.Label) labels.Labels {
	b := labels.NewBuilder(lset)
	for _, l := range extra {
		b.Set(l.Name, l.Value)
	}
	return b.Labels()
}
