package slack

// What Slack accepts in one message. Lengths are counted here in UTF-16 units
// unless said otherwise: Slack does not say what it counts, and that is never
// less than code points.
const (
	// MaxBlocks is the number of blocks of a message.
	MaxBlocks = 50
	// MaxHeader is a header block's plain text.
	MaxHeader = 150
	// MaxSection is a section's text, and that of any text object.
	MaxSection = 3000
	// MaxContextElements and MaxActionElements are elements of one block.
	MaxContextElements = 10
	MaxActionElements  = 25
	// MaxButtonText, MaxButtonValue, MaxActionID and MaxAccessibilityLabel
	// belong to a button.
	MaxButtonText         = 75
	MaxButtonValue        = 2000
	MaxActionID           = 255
	MaxAccessibilityLabel = 75
	// MaxURL is Slack's bound for a button's url; longer links become text.
	MaxURL = 3000
	// MaxText is the text beside the blocks in bytes, after escaping. chat.update
	// refuses more than 4,000 bytes (msg_too_long), seen by others; documented
	// is only the cut of a post at 40,000 characters.
	MaxText = 3800
	// MaxTotal is all text of all blocks together. Slack's own limit is not
	// documented; failures were seen from 11,341 characters on
	// (msg_blocks_too_long).
	MaxTotal = 10000
)

// Bounds of our own, so that the root fits one phone screen. What is never
// dropped adds up to less than MaxTotal, so there is always room for it:
// notice, title, subject, summary, step (heading to verify), buttons, footers.
const (
	maxNotice     = 1000
	maxTitle      = MaxHeader
	maxSubject    = 300
	maxSummary    = 900
	maxEvidence   = 400
	maxStepTitle  = 150
	maxSafety     = 40
	maxStepText   = 1200
	maxArithmetic = 500
	maxCommand    = 800
	maxAdvice     = 400
	maxFooter     = 250
	maxFooters    = 4
	maxButtons    = 8
	maxButtonText = 1800
	maxDetail     = 120
	maxLine       = 900
	// omission is the room for one remark on what was left out, omissions for
	// all of them.
	omission  = 60
	omissions = 400
)
