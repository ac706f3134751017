//go:build cases

package logs_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/diagnose/logs"
)

// labelled is one case of the folder.
type labelled struct {
	ID     string `yaml:"id"`
	Log    string `yaml:"log"`
	Expect string `yaml:"expect"`
}

// classesOf are the product's classes for a label of the cases (their README).
var classesOf = map[string][]diagnose.Class{
	"restart_burst":           {diagnose.RestartBurst},
	"cache_thrashing":         {diagnose.CacheThrash, diagnose.CacheSaturated, diagnose.FollowerChurn},
	"epoch_noise":             {diagnose.EpochMismatch},
	"buggy_client_or_network": {diagnose.LeakingClient, diagnose.MisroutedSessions, diagnose.EpochMismatch},
	"red_herring":             {diagnose.Quiet},
	"session_timeout":         {diagnose.SessionTimeout, diagnose.ClientUnreachable, diagnose.ProcessGone},
	"max_poll_interval":       {diagnose.PollInterval, diagnose.PollIntervalStatic},
	"join_sync_race":          {diagnose.JoinSyncRace, diagnose.SickLeader, diagnose.RebalanceTimeout},
	"rolling_deploy_benign":   {diagnose.RollingDeploy, diagnose.ProcessReplaced},
	"fencing":                 {diagnose.DuplicateStaticID},
	"rebalance_storm":         {diagnose.RebalanceStorm},
	"group_id_conflict":       {diagnose.StrayCommits},
	"insufficient_evidence":   {diagnose.Undecided},
	// "other" is the coordinator's side of trouble in the cases that use it.
	"other": {diagnose.CoordinatorTrouble, diagnose.GroupMetadataLost},
}

// TestCases scores log text alone on the labelled cases in $CASES_DIR: the first
// class of expect counts 1, a later one a half. At least nine of ten must get
// full marks, and no wrong answer may be confirmed.
func TestCases(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(os.Getenv("CASES_DIR"), "open.yaml"))
	if err != nil {
		t.Fatalf("CASES_DIR: %v", err)
	}
	var cases []labelled
	if err := yaml.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	full, points := 0, 0.0
	for _, c := range cases {
		d := judge(t, c.Log)
		p := d.Primary()
		mark := mark(p.Class, strings.Split(c.Expect, "|"))
		points += mark
		if mark == 1 {
			full++
		} else {
			t.Logf("%s: %s (%s), expected %s: %s", c.ID, p.Class, p.Confidence, c.Expect, p.Summary)
		}
		if p.Confidence == diagnose.Confirmed {
			t.Errorf("%s: log text alone is confirmed", c.ID)
		}
		if p.Advice == nil || p.Advice.Text == "" || p.Summary == "" || p.Decides == "" {
			t.Errorf("%s: no step, or nothing that decides: %+v", c.ID, p)
		}
	}
	t.Logf("%d of %d full marks, %.1f points", full, len(cases), points)
	if full*10 < len(cases)*9 {
		t.Errorf("%d of %d full marks, want nine of ten", full, len(cases))
	}
}

func judge(t *testing.T, text string) diagnose.Diagnosis {
	t.Helper()
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	found, err := logs.Read(strings.NewReader(text), logs.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return diagnose.Classify(logs.Evidence(found, now), diagnose.DefaultLimits())
}

func mark(got diagnose.Class, expect []string) float64 {
	for i, label := range expect {
		if slices.Contains(classesOf[label], got) {
			if i == 0 {
				return 1
			}
			return 0.5
		}
	}
	return 0
}
