package diagnose

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// recordedRuns loads the lab's runs of a class that rules may be tuned on.
func recordedRuns(t *testing.T, class Class) []corpusCase {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join("testdata", "corpus", string(class), "run-*", "case.json"))
	if err != nil {
		t.Fatal(err)
	}
	var out []corpusCase
	for _, p := range dirs {
		if c := loadMeta(t, filepath.Dir(p)); c.Set != "held-out" {
			out = append(out, withEvidence(t, c))
		}
	}
	if len(out) == 0 {
		t.Fatalf("no recorded run of %s", class)
	}
	return out
}

// Each storm of the lab is named for what the lab did, by what changed in most of
// its rebalances.
func TestStormsOfTheLabNameTheirCause(t *testing.T) {
	for _, c := range recordedRuns(t, RebalanceStorm) {
		p := Classify(c.ev, DefaultLimits()).Primary()
		how := c.Parameters["how"]
		if p.Class != RebalanceStorm {
			t.Errorf("%s: %s", c.name, p.Class)
			continue
		}
		for _, f := range p.Facts {
			if f.Name == "changed" && f.Text != how {
				t.Errorf("%s: changed is %s, the lab did %s: %s", c.name, f.Text, how, p.Summary)
			}
		}
		if grew := strings.Contains(p.Summary, "assigned partitions"); grew != (how == "metadata") {
			t.Errorf("%s: a topic's size is named although the lab did %s: %s", c.name, how, p.Summary)
		}
	}
}

// stormOf is a group with the given memberships, one a minute, each written as
// "a=0,1 b=2": the partitions of topic t; "a=u0" is one of topic u.
func stormOf(assignor string, memberships ...string) *groupStory {
	e := Evidence{At: t0, WindowSeconds: 900, GroupsReading: ok("kafka")}
	g := Group{ID: "orders", Reading: ok("kafka"), History: GroupHistory{Reading: ok("kafka"), Baseline: true}}
	for i, m := range memberships {
		r := GroupRecord{At: ago(time.Duration(len(memberships)-i) * time.Minute), Generation: int32(i + 5), Assignor: assignor}
		for _, f := range strings.Fields(m) {
			id, held, _ := strings.Cut(f, "=")
			rm := RecordMember{ID: id}
			for _, p := range strings.Split(held, ",") {
				if p == "" {
					continue
				}
				topic, n := "t", strings.TrimPrefix(p, "u")
				if n != p {
					topic = "u"
				}
				rm.Partitions = append(rm.Partitions, TopicPartition{Topic: topic, Partition: int32(n[0] - '0')})
			}
			r.Members = append(r.Members, rm)
		}
		g.History.Records = append(g.History.Records, r)
	}
	e.Groups = []Group{g}
	return storyOf(e)
}

func TestWhatAStormIsAbout(t *testing.T) {
	for name, c := range map[string]struct {
		assignor    string
		memberships []string
		kind, words string
		joined      int
	}{
		"one join, then the topic grows": {"range", []string{"a=0,1", "a=0 b=1", "a=0,1 b=2", "a=0,1 b=2,3", "a=0,1,2 b=3,4"},
			"metadata", "topic t went from 2 to 5 assigned partitions, 1 member joined", 1},
		"the topic grows once, then members join": {"range", []string{"a=0,1", "a=0,1,2", "a=0,1 b=2", "a=0 b=1 c=2", "a=0 b=1 c=2 d="},
			"scaling", "3 members joined, topic t went from 2 to 3 assigned partitions", 3},
		"members join and hold what others gave up a rebalance later": {"cooperative-sticky", []string{"a=0,1,2", "a=0,1 b=", "a=0,1 b=2", "a=0 b=2 c=", "a=0 b=2 c=1"},
			"scaling", "2 members joined", 2},
		"a topic of one partition moves": {"cooperative-sticky", []string{"a=0,1,u0", "a=0,1 b=", "a=0,1 b=u0", "a=0 b=u0 c="},
			"scaling", "2 members joined", 2},
		"the only change is one of five": {"range", []string{"a=0,1", "a=0 b=1", "a=0 b=1", "a=0 b=1", "a=0 b=1", "a=0 b=1"},
			"unknown", "1 member joined; in the other 4 nothing changed that is visible", 1},
		"a topic comes and goes": {"range", []string{"a=0", "a=0,u0", "a=0", "a=0,u0"},
			"metadata", "topic u came into the subscription", 0},
		"a topic leaves": {"range", []string{"a=0,u0", "a=0", "a=0,u0", "a=0"},
			"metadata", "topic u left the subscription", 0},
	} {
		ch := stormOf(c.assignor, c.memberships...).changedIn()
		if ch.kind != c.kind || !strings.HasPrefix(ch.words, c.words) || ch.joined != c.joined {
			t.Errorf("%s: %s, %q, %d joined; want %s, %q, %d", name, ch.kind, ch.words, ch.joined, c.kind, c.words, c.joined)
		}
	}
}
