package alertmanager

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"sort"
	"strings"
	"unicode/utf8"
)

// Bounds are the sizes up to which a delivery is kept. Lengths are in bytes.
type Bounds struct {
	// BodyBytes is the largest body; a larger one is answered 413.
	BodyBytes int64 `yaml:"body_bytes"`
	// Members is the number of members kept of one delivery.
	Members int `yaml:"members"`
	// Labels and Annotations are kept per member.
	Labels          int `yaml:"labels"`
	Annotations     int `yaml:"annotations"`
	NameBytes       int `yaml:"name_bytes"`
	LabelBytes      int `yaml:"label_bytes"`
	AnnotationBytes int `yaml:"annotation_bytes"`
	// Keep names the labels that are cut last.
	Keep []string `yaml:"-"`
}

// DefaultBounds fit what Alertmanager sends in practice, with room: one member
// is about 800 bytes, so 16 MiB hold 20,000 of them.
func DefaultBounds() Bounds {
	return Bounds{
		BodyBytes: 16 << 20, Members: 1000, Labels: 64, Annotations: 16,
		NameBytes: 128, LabelBytes: 512, AnnotationBytes: 1024,
	}
}

const urlBytes = 2048

func (b Bounds) alert(w wireAlert, c *Cut) Alert {
	a := Alert{
		Fingerprint: w.Fingerprint,
		Firing:      w.Status == "firing",
		StartsAt:    w.StartsAt.UTC(),
	}
	// While firing endsAt is 0001-01-01T00:00:00Z, or the moment at which
	// Alertmanager would give up: neither is an end.
	if !a.Firing {
		a.EndsAt = w.EndsAt.UTC()
	}
	if !plainID(a.Fingerprint) {
		a.Fingerprint = fingerprint(w.Labels)
	}
	a.Labels = b.pairs(w.Labels, b.Labels, b.LabelBytes, &c.Labels, c)
	a.Annotations = b.pairs(w.Annotations, b.Annotations, b.AnnotationBytes, &c.Annotations, c)
	if len(w.GeneratorURL) <= urlBytes && webURL(w.GeneratorURL) {
		a.GeneratorURL = w.GeneratorURL
	}
	return a
}

// pairs keeps at most n pairs: the alert's name and the Keep labels first, the
// others by name, so that the same alert is always cut the same way.
func (b Bounds) pairs(m map[string]string, n, limit int, dropped *int, c *Cut) map[string]string {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string]string, min(len(m), n))
	for _, k := range b.order(m) {
		if len(out) >= n {
			*dropped++
			continue
		}
		out[b.cutTo(k, b.NameBytes, c)] = b.cutTo(m[k], limit, c)
	}
	return out
}

func (b Bounds) order(m map[string]string) []string {
	rank := map[string]int{"alertname": -2, "summary": -1, "runbook_url": -1}
	for _, k := range b.Keep {
		rank[k] = -1
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool {
		if rank[keys[i]] != rank[keys[j]] {
			return rank[keys[i]] < rank[keys[j]]
		}
		return keys[i] < keys[j]
	})
	return keys
}

// cutTo shortens a text to limit bytes at a rune's border and counts it.
func (b Bounds) cutTo(s string, limit int, c *Cut) string {
	if len(s) <= limit {
		return s
	}
	c.Texts++
	const mark = "…"
	end := limit - len(mark)
	if end < 0 {
		end = 0
	}
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + mark
}

// plainID reports whether a fingerprint may be used as a key as it is.
func plainID(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	}) < 0
}

// fingerprint stands in where the sender gave none: the same labels give the
// same value.
func fingerprint(labels map[string]string) string {
	keys := make([]string, 0, len(labels))
	for k := range labels {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	h := sha256.New()
	for _, k := range keys {
		h.Write([]byte(k + "\x00" + labels[k] + "\x00"))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func webURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}
