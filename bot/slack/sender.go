package slack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	slackapi "github.com/slack-go/slack"
)

// metadataType names our message metadata; see [Sender.Find].
const metadataType = "kafka_oncall_post"

// Sender posts, edits and finds messages. It is safe for concurrent use; posts
// to one channel go one after the other, in no promised order.
type Sender struct {
	api     *slackapi.Client
	log     *slog.Logger
	metrics *Metrics
	pace    *pacer
}

// NewSender makes a sender; it calls nobody yet. metrics may be nil.
func NewSender(cfg Config, log *slog.Logger, metrics *Metrics) *Sender {
	if metrics == nil {
		metrics = NewMetrics(nil)
	}
	return &Sender{api: cfg.client(), log: log, metrics: metrics, pace: newPacer()}
}

// Identity is who the bot is in its workspace.
type Identity struct {
	Workspace string
	BotUserID string
	BotID     string
}

// Check asks Slack who the bot is; it fails with ErrAuth if the token is refused.
func (s *Sender) Check(ctx context.Context) (Identity, error) {
	var id Identity
	err := s.call(ctx, methodAuth, "asking Slack who the bot is", func() error {
		a, err := s.api.AuthTestContext(ctx)
		if err == nil {
			id = Identity{Workspace: a.Team, BotUserID: a.UserID, BotID: a.BotID}
		}
		return err
	})
	return id, err
}

// Send posts, replies or edits, waiting for its turn as Slack's rates demand.
// Errors are of contract.go: a RetryError (Ambiguous if the message may be there
// already), or one of Err…. If Slack refuses the blocks, the message goes out as
// text alone rather than not at all. If the bot is not in a public channel, it
// joins and tries once more.
func (s *Sender) Send(ctx context.Context, p Post) (Posted, error) {
	r := render(p.Message)
	posted, err := s.sendJoining(ctx, p, r)
	if !refusedBlocks(err) {
		return posted, err
	}
	s.metrics.degraded.Inc()
	s.log.WarnContext(ctx, "slack refused the blocks of a message; sending it as text", "incident_id", p.IncidentID, "seq", p.Seq, "error", err)
	return s.sendJoining(ctx, p, rendered{text: textOnly(p.Message)})
}

func (s *Sender) sendJoining(ctx context.Context, p Post, r rendered) (Posted, error) {
	posted, err := s.send(ctx, p, r)
	if wordOf(err) != "not_in_channel" {
		return posted, err
	}
	joinErr := s.join(ctx, p.Channel)
	if joinErr == nil {
		return s.send(ctx, p, r)
	}
	var retry *RetryError
	if errors.As(joinErr, &retry) {
		// Nothing was posted, whatever became of joining.
		return Posted{}, &RetryError{After: retry.After, Err: joinErr}
	}
	return Posted{}, fmt.Errorf("the bot is not in the channel and cannot join it (%s); invite it with /invite: %w", joinErr.Error(), ErrChannel)
}

func (s *Sender) send(ctx context.Context, p Post, r rendered) (Posted, error) {
	if p.UpdateTS != "" {
		return s.update(ctx, p, r)
	}
	return s.post(ctx, p, r)
}

func (s *Sender) post(ctx context.Context, p Post, r rendered) (Posted, error) {
	start := time.Now()
	leave, err := s.pace.enterChannel(ctx, p.Channel)
	s.metrics.wait(methodPost, time.Since(start))
	if err != nil {
		return Posted{}, notSent("waiting to post", err)
	}
	defer leave()
	opts := options(p, r)
	opts = append(opts, slackapi.MsgOptionDisableLinkUnfurl(), slackapi.MsgOptionDisableMediaUnfurl())
	if p.ThreadTS != "" {
		opts = append(opts, slackapi.MsgOptionTS(p.ThreadTS))
		if p.Broadcast {
			opts = append(opts, slackapi.MsgOptionBroadcast())
		}
	}
	var out Posted
	err = s.call(ctx, methodPost, "posting to Slack", func() error {
		channel, ts, m, err := s.api.PostMessageWithResponseContext(ctx, p.Channel, opts...)
		out = Posted{Channel: channel, TS: ts, Threaded: m.ThreadTimestamp != ""}
		return err
	})
	if err != nil {
		return Posted{}, err
	}
	return checkPosted(out, p.Channel)
}

// checkPosted refuses an answer that says ok and names no message: whether it
// was posted is then open.
func checkPosted(out Posted, channel string) (Posted, error) {
	if out.TS == "" {
		return Posted{}, &RetryError{After: passingRetryAfter, Ambiguous: true, Err: errors.New("posting to Slack: the answer names no message")}
	}
	if out.Channel == "" {
		out.Channel = channel
	}
	return out, nil
}

func (s *Sender) update(ctx context.Context, p Post, r rendered) (Posted, error) {
	if err := s.enter(ctx, methodUpdate, "waiting to edit"); err != nil {
		return Posted{}, err
	}
	err := s.call(ctx, methodUpdate, "editing a message in Slack", func() error {
		_, _, _, err := s.api.UpdateMessageContext(ctx, p.Channel, p.UpdateTS, options(p, r)...)
		return err
	})
	if err != nil {
		return Posted{}, err
	}
	return Posted{Channel: p.Channel, TS: p.UpdateTS, Threaded: p.ThreadTS != ""}, nil
}

// options are the arguments that posts and edits share. The text is escaped
// already; blocks are sent even if there are none on an edit, because Slack
// would keep the old ones only if the text were missing, too.
func options(p Post, r rendered) []slackapi.MsgOption {
	opts := []slackapi.MsgOption{
		slackapi.MsgOptionText(r.text, false),
		slackapi.MsgOptionMetadata(slackapi.SlackMetadata{EventType: metadataType, EventPayload: map[string]any{
			"incident_id": p.IncidentID, "seq": p.Seq,
		}}),
	}
	if len(r.blocks) > 0 {
		opts = append(opts, slackapi.MsgOptionBlocks(r.blocks...))
	}
	return opts
}

func (s *Sender) join(ctx context.Context, channel string) error {
	if err := s.enter(ctx, methodJoin, "waiting to join a channel"); err != nil {
		return err
	}
	return s.call(ctx, methodJoin, "joining the channel", func() error {
		_, _, _, err := s.api.JoinConversationContext(ctx, channel)
		return err
	})
}

// enter waits for a token of a Tier 3 method; doing is for the error.
func (s *Sender) enter(ctx context.Context, method, doing string) error {
	start := time.Now()
	err := s.pace.enterMethod(ctx, method)
	s.metrics.wait(method, time.Since(start))
	if err != nil {
		return notSent(doing, err)
	}
	return nil
}

// call runs one request unless its method is paused, and books the outcome.
func (s *Sender) call(ctx context.Context, method, doing string, do func() error) error {
	if err := s.pace.check(method); err != nil {
		return err
	}
	err := classify(doing, do())
	if s.pace.note(method, err) {
		s.metrics.rateLimited.WithLabelValues(method).Inc()
		s.log.WarnContext(ctx, "slack limits the rate of a method", "method", method, "error", err)
	}
	s.metrics.call(method, err)
	return err
}

// notSent is for a wait that ended because the caller's time was up: nothing was
// sent, so it is safe to try again.
func notSent(doing string, err error) error {
	return &RetryError{After: postEvery, Err: fmt.Errorf("%s: %w", doing, err)}
}

// refusedBlocks says whether the same message could pass without its blocks.
func refusedBlocks(err error) bool {
	switch wordOf(err) {
	case "invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long", "invalid_arguments":
		return true
	}
	return false
}
