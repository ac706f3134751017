package slack

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

// Post is one thing to say: a new root (ThreadTS and UpdateTS empty), a reply
// (ThreadTS set), or an edit (UpdateTS set).
type Post struct {
	Channel  string `json:"channel"`
	ThreadTS string `json:"thread_ts,omitempty"`
	UpdateTS string `json:"update_ts,omitempty"`
	// Broadcast also shows a reply in the channel.
	Broadcast bool              `json:"broadcast,omitempty"`
	Message   playbooks.Message `json:"message"`
	// IncidentID and Seq go into the message metadata, so that a post whose
	// answer was lost can be found again. They name the post uniquely.
	IncidentID string `json:"incident_id"`
	Seq        int64  `json:"seq"`
}

// Posted is where a message ended up.
type Posted struct {
	Channel string `json:"channel"`
	TS      string `json:"ts"`
	// Threaded is false when a reply landed in the channel because its root is
	// gone.
	Threaded bool `json:"threaded"`
}

// RetryError says that Slack asked to wait, or that the failure is passing.
// Ambiguous is true when the message may have been accepted all the same.
type RetryError struct {
	After     time.Duration
	Ambiguous bool
	Err       error
}

func (e *RetryError) Error() string {
	return fmt.Sprintf("slack asks to try again in %s: %v", e.After, e.Err)
}

// Unwrap returns the cause.
func (e *RetryError) Unwrap() error { return e.Err }

// Errors that a retry does not mend. They wrap Slack's own error word.
var (
	// ErrGone: the message to edit, or the root to reply to, does not exist.
	ErrGone = errors.New("slack: the message is gone")
	// ErrChannel: the channel is unknown, archived, or the bot is not in it.
	ErrChannel = errors.New("slack: the channel cannot be posted to")
	// ErrAuth: the token is refused or lacks a scope.
	ErrAuth = errors.New("slack: the token is refused")
	// ErrRefused: Slack refused this payload.
	ErrRefused = errors.New("slack: the message was refused")
	// ErrNoHistory: the bot may not read the channel's history.
	ErrNoHistory = errors.New("slack: the history may not be read")
)

// Command is a slash command or a mention, after it was acknowledged.
type Command struct {
	// ID is the same for every delivery of the same command.
	ID          string `json:"id"`
	ChannelID   string `json:"channel_id"`
	ThreadTS    string `json:"thread_ts,omitempty"`
	UserID      string `json:"user_id"`
	UserName    string `json:"user_name,omitempty"`
	Text        string `json:"text"`
	ResponseURL string `json:"response_url,omitempty"`
}

// Click is a pressed button, after it was acknowledged.
type Click struct {
	ID          string           `json:"id"`
	Action      playbooks.Action `json:"action"`
	Value       string           `json:"value"`
	ChannelID   string           `json:"channel_id"`
	MessageTS   string           `json:"message_ts"`
	UserID      string           `json:"user_id"`
	UserName    string           `json:"user_name,omitempty"`
	ResponseURL string           `json:"response_url,omitempty"`
}

// Handler takes what people do in Slack. Both methods are called after the
// acknowledgement was sent, each in a goroutine of its own, and must be
// idempotent by ID: Slack delivers at least once.
type Handler interface {
	OnCommand(ctx context.Context, c Command)
	OnClick(ctx context.Context, c Click)
}
