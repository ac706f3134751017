package slack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	slackapi "github.com/slack-go/slack"
)

// words sorts Slack's error words. What is not here is ErrRefused: a word that
// we do not know is about this payload, and repeating it would not help.
var words = map[string]error{
	"message_not_found":       ErrGone,
	"thread_not_found":        ErrGone,
	"cant_update_message":     ErrGone,
	"edit_window_closed":      ErrGone,
	"cannot_reply_to_message": ErrGone,

	"channel_not_found":                        ErrChannel,
	"not_in_channel":                           ErrChannel,
	"is_archived":                              ErrChannel,
	"restricted_action":                        ErrChannel,
	"restricted_action_read_only_channel":      ErrChannel,
	"restricted_action_thread_only_channel":    ErrChannel,
	"restricted_action_non_threadable_channel": ErrChannel,
	"posting_to_channel_denied":                ErrChannel,
	"method_not_supported_for_channel_type":    ErrChannel,
	"user_not_in_channel":                      ErrChannel,

	"invalid_auth":              ErrAuth,
	"not_authed":                ErrAuth,
	"account_inactive":          ErrAuth,
	"token_revoked":             ErrAuth,
	"token_expired":             ErrAuth,
	"missing_scope":             ErrAuth,
	"no_permission":             ErrAuth,
	"not_allowed_token_type":    ErrAuth,
	"org_login_required":        ErrAuth,
	"access_denied":             ErrAuth,
	"ekm_access_denied":         ErrAuth,
	"enterprise_is_restricted":  ErrAuth,
	"team_access_not_granted":   ErrAuth,
	"two_factor_setup_required": ErrAuth,
}

// passing are words for trouble on Slack's side; the message may have been
// accepted all the same ("some aspect of the operation" may have succeeded, as
// Slack puts it for fatal_error).
var passing = map[string]bool{
	"internal_error": true, "fatal_error": true, "service_unavailable": true,
	"request_timeout": true, "team_added_to_org": true,
}

// limiting are words for 429 that came with HTTP 200.
var limiting = map[string]bool{"ratelimited": true, "rate_limited": true, "message_limit_exceeded": true}

// Waits when Slack does not say how long.
const (
	defaultRetryAfter = 30 * time.Second
	passingRetryAfter = 5 * time.Second
)

// errLimited marks a RetryError as a 429, as opposed to other waits.
var errLimited = errors.New("rate limited")

func isLimited(err error) bool { return errors.Is(err, errLimited) }

// classify turns an error of a call into one of the package's errors. doing
// says what was being done.
func classify(doing string, err error) error {
	if err == nil {
		return nil
	}
	var limited *slackapi.RateLimitedError
	if errors.As(err, &limited) {
		return &RetryError{After: clamp(limited.RetryAfter), Err: fmt.Errorf("%s: %w", doing, errLimited)}
	}
	var status slackapi.StatusCodeError
	if errors.As(err, &status) {
		return classifyStatus(doing, status.Code)
	}
	var answer slackapi.SlackErrorResponse
	if errors.As(err, &answer) {
		return classifyWord(doing, answer)
	}
	return classifyNetwork(doing, err)
}

// clamp keeps a Retry-After within reason: never at once, and no longer than
// Slack has been seen to ask for.
func clamp(d time.Duration) time.Duration {
	return min(max(d, time.Second), 10*time.Minute)
}

func classifyStatus(doing string, code int) error {
	switch {
	case code == 429:
		return &RetryError{After: defaultRetryAfter, Err: fmt.Errorf("%s: %w", doing, errLimited)}
	case code >= 500 || code == 408:
		return &RetryError{After: passingRetryAfter, Ambiguous: true, Err: fmt.Errorf("%s: Slack answered with status %d", doing, code)}
	}
	return fmt.Errorf("%s: status %d: %w", doing, code, ErrRefused)
}

func classifyWord(doing string, a slackapi.SlackErrorResponse) error {
	word := clip(sanitize(a.Err), 60)
	switch {
	case limiting[a.Err]:
		return &RetryError{After: defaultRetryAfter, Err: fmt.Errorf("%s: %w", doing, errLimited)}
	case passing[a.Err]:
		return &RetryError{After: passingRetryAfter, Ambiguous: true, Err: fmt.Errorf("%s: %s", doing, word)}
	case a.Err == "missing_scope":
		return fmt.Errorf("%s: missing_scope, needed %s: %w", doing, clip(sanitize(a.Needed), 100), ErrAuth)
	}
	kind, known := words[a.Err]
	if !known {
		kind = ErrRefused
	}
	return &wordError{doing: doing, word: word, why: refusals(a), kind: kind}
}

// refusals are Slack's own remarks on a refused payload; they name the block by
// JSON pointer.
func refusals(a slackapi.SlackErrorResponse) string {
	if len(a.ResponseMetadata.Messages) == 0 {
		return ""
	}
	return clip(sanitize(strings.Join(a.ResponseMetadata.Messages, "; ")), 300)
}

// classifyNetwork sorts failures below HTTP. Only a connection that was never
// made proves that nothing was sent.
func classifyNetwork(doing string, err error) error {
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: %w", doing, &RetryError{Ambiguous: true, Err: context.Canceled})
	}
	var op *net.OpError
	var dns *net.DNSError
	unsent := errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &dns) || (errors.As(err, &op) && op.Op == "dial")
	return &RetryError{After: passingRetryAfter, Ambiguous: !unsent, Err: fmt.Errorf("%s: %s", doing, networkWord(err, unsent))}
}

// networkWord keeps host names and addresses out of the error.
func networkWord(err error, unsent bool) string {
	var timeout interface{ Timeout() bool }
	switch {
	case unsent:
		return "Slack cannot be reached"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	}
	return "the connection broke"
}

// wordError is an error word of Slack with what it means for us.
type wordError struct {
	doing, word, why string
	kind             error
}

func (e *wordError) Error() string {
	s := e.doing + ": " + e.word
	if e.why != "" {
		s += " (" + e.why + ")"
	}
	return s + ": " + e.kind.Error()
}

func (e *wordError) Unwrap() error { return e.kind }

// wordOf returns Slack's error word, if err carries one.
func wordOf(err error) string {
	var w *wordError
	if errors.As(err, &w) {
		return w.word
	}
	return ""
}

// outcomeOf is the metric label of an error, from a closed list.
func outcomeOf(err error) string {
	var retry *RetryError
	switch {
	case errors.As(err, &retry) && retry.Ambiguous:
		return "ambiguous"
	case errors.As(err, &retry):
		return "retry"
	case errors.Is(err, ErrGone):
		return "gone"
	case errors.Is(err, ErrChannel):
		return "channel"
	case errors.Is(err, ErrAuth):
		return "auth"
	case errors.Is(err, ErrNoHistory):
		return "no_history"
	}
	return "refused"
}
