package slackdouble

import "time"

// Limits are the numbers of Slack that the double enforces. Block Kit lengths
// are in code points.
type Limits struct {
	Blocks          int // of a message
	TextObject      int
	Header          int
	Fields          int // of a section
	Field           int
	ContextElements int
	ActionElements  int
	ButtonText      int
	ButtonValue     int
	ButtonURL       int
	Accessibility   int
	ActionID        int
	BlockID         int
	ConfirmTitle    int
	ConfirmText     int
	ConfirmButton   int
	OptionText      int
	OptionValue     int
	OptionNote      int
	OptionURL       int
	GroupLabel      int
	SelectOptions   int
	SelectGroups    int
	Placeholder     int
	OverflowOptions int
	ChoiceOptions   int // of checkboxes and radio buttons
	ImageURL        int
	AltText         int
	ImageTitle      int
	Markdown        int // of all markdown blocks together

	// Total bounds all text of all blocks, UpdateBytes the text of chat.update in
	// bytes as sent, PostText that of a post in code points.
	Total       int
	UpdateBytes int
	PostText    int

	// PostEvery is the distance of two posts into one channel, PerMinute the
	// calls of a method in any minute by tier.
	PostEvery time.Duration
	PerMinute map[Tier]int

	// AckWithin is Slack's patience with an envelope; AckBytes is the size from
	// which an acknowledgement is ignored.
	AckWithin   time.Duration
	AckBytes    int
	Connections int

	ResponseUses  int
	ResponseLife  time.Duration
	ResponseEvery time.Duration
}

// Tier is a rate limit class of methods.
type Tier int

// The tiers; Special methods have a limit of their own.
const (
	Tier1 Tier = iota + 1
	Tier2
	Tier3
	Tier4
	Special
)

// DefaultLimits are Slack's.
func DefaultLimits() Limits {
	return Limits{
		Blocks: 50, TextObject: 3000, Header: 150, Fields: 10, Field: 2000,
		ContextElements: 10, ActionElements: 25,
		ButtonText: 75, ButtonValue: 2000, ButtonURL: 3000, Accessibility: 75,
		ActionID: 255, BlockID: 255,
		ConfirmTitle: 100, ConfirmText: 300, ConfirmButton: 30,
		OptionText: 75, OptionValue: 150, OptionNote: 75, OptionURL: 3000,
		GroupLabel: 75, SelectOptions: 100, SelectGroups: 100, Placeholder: 150,
		OverflowOptions: 5, ChoiceOptions: 10,
		ImageURL: 3000, AltText: 2000, ImageTitle: 2000, Markdown: 12000,
		Total: 10000, UpdateBytes: 4000, PostText: 40000,
		PostEvery: time.Second,
		// Tier 1 is "1+": bursts are tolerated, of a size not published.
		PerMinute:    map[Tier]int{Tier1: 8, Tier2: 20, Tier3: 50, Tier4: 100, Special: 600},
		AckWithin:    3 * time.Second,
		AckBytes:     20 << 10,
		Connections:  10,
		ResponseUses: 5, ResponseLife: 30 * time.Minute, ResponseEvery: time.Second,
	}
}
