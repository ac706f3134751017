package slack

import (
	"testing"

	"github.com/kafka-oncall/kafka-oncall/internal/slackdouble"
)

// The two sets of limits were written down apart. Where they speak of the same
// thing they agree, or ours is the stricter one.
func TestLimitsAgreeWithTheDouble(t *testing.T) {
	theirs := slackdouble.DefaultLimits()
	for name, l := range map[string]struct{ ours, theirs int }{
		"blocks":              {MaxBlocks, theirs.Blocks},
		"header":              {MaxHeader, theirs.Header},
		"section":             {MaxSection, theirs.TextObject},
		"context elements":    {MaxContextElements, theirs.ContextElements},
		"action elements":     {MaxActionElements, theirs.ActionElements},
		"button text":         {MaxButtonText, theirs.ButtonText},
		"button value":        {MaxButtonValue, theirs.ButtonValue},
		"action_id":           {MaxActionID, theirs.ActionID},
		"accessibility label": {MaxAccessibilityLabel, theirs.Accessibility},
		"url":                 {MaxURL, theirs.ButtonURL},
		"all blocks":          {MaxTotal, theirs.Total},
		"response uses":       {responseUses, theirs.ResponseUses},
	} {
		if l.ours != l.theirs {
			t.Errorf("%s: ours is %d, the double's %d", name, l.ours, l.theirs)
		}
	}
	if MaxText >= theirs.UpdateBytes {
		t.Errorf("text: ours is %d bytes, which must be below %d", MaxText, theirs.UpdateBytes)
	}
	if postEvery < theirs.PostEvery || responseEvery < theirs.ResponseEvery || responseLife > theirs.ResponseLife {
		t.Error("our pace is faster than the double's")
	}
	if perMinute := tier3Burst + int(60e9/int64(tier3Every)); perMinute > theirs.PerMinute[slackdouble.Tier3] {
		t.Errorf("our bucket lets %d edits through in a minute, the double %d", perMinute, theirs.PerMinute[slackdouble.Tier3])
	}
}
