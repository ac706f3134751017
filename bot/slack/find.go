package slack

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	slackapi "github.com/slack-go/slack"
)

// Pages of history. Slack gives distributed, unlisted apps 15 objects at most;
// others up to 999. The number of pages bounds a search in a busy channel.
const (
	pageSize      = 200
	smallPageSize = 15
	maxPages      = 10
)

const waitingToRead = "waiting to read the history"

// Find looks for a post whose answer was lost: a message since the given time
// whose metadata holds the post's incident and sequence number. Replies are
// looked for in their thread, and in the channel if the thread is gone. The
// error is ErrNoHistory if the bot may not read there; then the caller cannot
// know whether the message exists.
func (s *Sender) Find(ctx context.Context, p Post, since time.Time) (Posted, bool, error) {
	if p.UpdateTS != "" {
		return s.findEdit(ctx, p)
	}
	if p.ThreadTS != "" {
		posted, found, err := s.search(ctx, p, since, s.replies)
		if !errors.Is(err, ErrGone) {
			return posted, found, err
		}
	}
	return s.search(ctx, p, since, s.history)
}

// page asks for one page of messages since oldest.
type page func(ctx context.Context, p Post, oldest, cursor string, limit int) ([]slackapi.Message, string, error)

func (s *Sender) search(ctx context.Context, p Post, since time.Time, next page) (Posted, bool, error) {
	oldest := fmt.Sprintf("%010d.000000", since.Unix())
	cursor, limit := "", pageSize
	for range maxPages {
		messages, more, err := next(ctx, p, oldest, cursor, limit)
		if err != nil && limit > smallPageSize && wordOf(err) == "invalid_limit" {
			limit = smallPageSize
			continue
		}
		if err != nil {
			return Posted{}, false, noHistory(err)
		}
		if m, ok := match(messages, p); ok {
			return Posted{Channel: p.Channel, TS: m.Timestamp, Threaded: m.ThreadTimestamp != "" && m.ThreadTimestamp != m.Timestamp}, true, nil
		}
		if cursor = more; cursor == "" {
			return Posted{}, false, nil
		}
	}
	return Posted{}, false, fmt.Errorf("searching the channel: not found in %d pages, and there are more: %w", maxPages, ErrNoHistory)
}

// findEdit says whether the edit was made. It would do no harm to make it twice.
func (s *Sender) findEdit(ctx context.Context, p Post) (Posted, bool, error) {
	root := p
	if root.ThreadTS == "" {
		root.ThreadTS = p.UpdateTS
	}
	messages, _, err := s.replies(ctx, root, p.UpdateTS, "", smallPageSize)
	if err != nil {
		return Posted{}, false, noHistory(err)
	}
	m, ok := match(messages, p)
	if !ok || m.Timestamp != p.UpdateTS {
		return Posted{}, false, nil
	}
	return Posted{Channel: p.Channel, TS: m.Timestamp, Threaded: p.ThreadTS != ""}, true, nil
}

func (s *Sender) history(ctx context.Context, p Post, oldest, cursor string, limit int) ([]slackapi.Message, string, error) {
	if err := s.enter(ctx, methodHistory, waitingToRead); err != nil {
		return nil, "", err
	}
	var out *slackapi.GetConversationHistoryResponse
	err := s.call(ctx, methodHistory, "reading the channel's history", func() (err error) {
		out, err = s.api.GetConversationHistoryContext(ctx, &slackapi.GetConversationHistoryParameters{
			ChannelID: p.Channel, Oldest: oldest, Inclusive: true, Cursor: cursor, Limit: limit, IncludeAllMetadata: true,
		})
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return out.Messages, out.ResponseMetaData.NextCursor, nil
}

func (s *Sender) replies(ctx context.Context, p Post, oldest, cursor string, limit int) (messages []slackapi.Message, more string, err error) {
	if err := s.enter(ctx, methodReplies, waitingToRead); err != nil {
		return nil, "", err
	}
	err = s.call(ctx, methodReplies, "reading the thread", func() (err error) {
		messages, _, more, err = s.api.GetConversationRepliesContext(ctx, &slackapi.GetConversationRepliesParameters{
			ChannelID: p.Channel, Timestamp: p.ThreadTS, Oldest: oldest, Inclusive: true, Cursor: cursor, Limit: limit, IncludeAllMetadata: true,
		})
		return err
	})
	return messages, more, err
}

// match finds the post by its metadata.
func match(messages []slackapi.Message, p Post) (slackapi.Message, bool) {
	for _, m := range messages {
		if m.Metadata.EventType != metadataType || m.Metadata.EventPayload["incident_id"] != p.IncidentID {
			continue
		}
		if number(m.Metadata.EventPayload["seq"]) == p.Seq {
			return m, true
		}
	}
	return slackapi.Message{}, false
}

// number reads a JSON number; a string is taken, too.
func number(v any) int64 {
	switch n := v.(type) {
	case float64:
		return int64(n)
	case string:
		i, err := strconv.ParseInt(n, 10, 64)
		if err == nil {
			return i
		}
	}
	return -1
}

// noHistory turns refusals to read into ErrNoHistory. A failing call stays what
// it is: it can be tried again.
func noHistory(err error) error {
	if errors.Is(err, ErrAuth) || errors.Is(err, ErrChannel) || errors.Is(err, ErrRefused) {
		return fmt.Errorf("%w: %w", ErrNoHistory, err)
	}
	return err
}
