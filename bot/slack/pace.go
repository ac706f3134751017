package slack

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Names of the Web API methods that are called.
const (
	methodPost    = "chat.postMessage"
	methodUpdate  = "chat.update"
	methodHistory = "conversations.history"
	methodReplies = "conversations.replies"
	methodJoin    = "conversations.join"
	methodAuth    = "auth.test"
	methodOpen    = "apps.connections.open"
	methodRespond = "response_url"
)

// postEvery is Slack's rule for chat.postMessage: one a second and channel.
const postEvery = time.Second

// Tier 3 (chat.update, conversations.history, .replies, .join) allows 50 calls a
// minute and workspace. A bucket of 10 that refills 40 times a minute lets no
// minute have more than 50.
const (
	tier3Burst = 10
	tier3Every = time.Minute / 40
)

// pacer keeps calls inside Slack's rates: a gate per channel for posts, a bucket
// per method for the others, and a pause per method after a 429.
type pacer struct {
	mu      sync.Mutex
	gates   map[string]*gate
	buckets map[string]*rate.Limiter
	paused  map[string]time.Time
}

func newPacer() *pacer {
	return &pacer{gates: map[string]*gate{}, buckets: map[string]*rate.Limiter{}, paused: map[string]time.Time{}}
}

// gate lets one call at a time through. free is when the next may start: some
// time after the last was answered, not after it was sent, so that no delay on
// the way can bring two of them closer together at Slack's end. Who is inside
// sets it.
type gate struct {
	turn chan struct{}
	free time.Time
}

func newGate() *gate { return &gate{turn: make(chan struct{}, 1)} }

// enter waits for the turn and until the gate is free.
func (g *gate) enter(ctx context.Context) error {
	select {
	case g.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := sleepUntil(ctx, g.free); err != nil {
		g.leave()
		return err
	}
	return nil
}

func (g *gate) leave() { <-g.turn }

func (p *pacer) gate(channel string) *gate {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.gates[channel]
	if g == nil {
		g = newGate()
		p.gates[channel] = g
	}
	return g
}

// enterChannel waits for the turn of a post and returns the function that ends it.
func (p *pacer) enterChannel(ctx context.Context, channel string) (leave func(), err error) {
	g := p.gate(channel)
	if err := g.enter(ctx); err != nil {
		return nil, err
	}
	return func() {
		g.free = time.Now().Add(postEvery)
		g.leave()
	}, nil
}

// enterMethod waits for a token of a Tier 3 method.
func (p *pacer) enterMethod(ctx context.Context, method string) error {
	p.mu.Lock()
	b := p.buckets[method]
	if b == nil {
		b = rate.NewLimiter(rate.Every(tier3Every), tier3Burst)
		p.buckets[method] = b
	}
	p.mu.Unlock()
	return b.Wait(ctx)
}

// check refuses a method that Slack has told to wait, without waiting here: a
// pause can be long, and the caller's queue knows better what to do meanwhile.
func (p *pacer) check(method string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := time.Until(p.paused[method])
	if left <= 0 {
		return nil
	}
	return &RetryError{After: left, Err: fmt.Errorf("%s: paused after a 429", method)}
}

// note takes in what Slack answered. It returns true for a 429.
func (p *pacer) note(method string, err error) bool {
	var retry *RetryError
	if !errors.As(err, &retry) || retry.Ambiguous || !isLimited(err) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if until := time.Now().Add(retry.After); until.After(p.paused[method]) {
		p.paused[method] = until
	}
	return true
}

func sleepUntil(ctx context.Context, t time.Time) error {
	d := time.Until(t)
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
