package collect

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// PrometheusStats counts what was asked of Prometheus since the start.
type PrometheusStats struct {
	// Requests counts HTTP requests, retries included.
	Requests uint64
	// Retries counts second attempts after 429, 502 or 503.
	Retries uint64
	// Bytes counts received body bytes.
	Bytes uint64
}

// transport bounds each answer's size, tries once more where that can help, and
// counts. The client library does none of the three.
type transport struct {
	next    http.RoundTripper
	maxBody int64
	// pause is the wait before the second attempt where the server names none.
	pause time.Duration

	requests, retries, bytes atomic.Uint64
}

// retryPause is short: the on-call waits, and a restarting proxy either is back
// or is not. maxRetryAfter is the longest Retry-After that is honoured; beyond
// it the first answer counts.
const (
	retryPause    = 250 * time.Millisecond
	maxRetryAfter = 2 * time.Second
)

// call collects what the client library does not hand out.
type call struct {
	// status is the last HTTP status, 0 without an answer.
	status int
}

type callKey struct{}

func withCall(ctx context.Context) (context.Context, *call) {
	c := &call{}
	return context.WithValue(ctx, callKey{}, c), c
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.once(req)
	if err != nil || !worthRetry(resp.StatusCode) {
		return resp, err
	}
	pause, ok := t.retryAfter(resp)
	again, cloned := cloneRequest(req)
	if !ok || !cloned {
		return resp, nil
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-req.Context().Done():
		return resp, nil
	case <-timer.C:
	}
	_ = resp.Body.Close() // the first answer is thrown away
	t.retries.Add(1)
	return t.once(again)
}

func (t *transport) once(req *http.Request) (*http.Response, error) {
	t.requests.Add(1)
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if c, ok := req.Context().Value(callKey{}).(*call); ok {
		c.status = resp.StatusCode
	}
	resp.Body = &boundedBody{ReadCloser: resp.Body, left: t.maxBody, limit: t.maxBody, total: &t.bytes}
	return resp, nil
}

func worthRetry(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusBadGateway || status == http.StatusServiceUnavailable
}

func (t *transport) retryAfter(resp *http.Response) (time.Duration, bool) {
	h := resp.Header.Get("Retry-After")
	if h == "" {
		return t.pause, true
	}
	s, err := strconv.Atoi(h)
	if err != nil || s < 0 {
		return t.pause, true // an HTTP date: not worth reading a clock for
	}
	d := time.Duration(s) * time.Second
	return d, d <= maxRetryAfter
}

func cloneRequest(req *http.Request) (*http.Request, bool) {
	again := req.Clone(req.Context())
	if req.Body == nil {
		return again, true
	}
	if req.GetBody == nil {
		return nil, false
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, false
	}
	again.Body = body
	return again, true
}

// bodyTooLargeError says that an answer was cut because of its size.
type bodyTooLargeError struct{ limit int64 }

func (e *bodyTooLargeError) Error() string {
	return fmt.Sprintf("answer is larger than %d bytes", e.limit)
}

// boundedBody fails once more than limit bytes come, so that a truncated answer
// cannot be taken for a whole one.
type boundedBody struct {
	io.ReadCloser
	left, limit int64
	total       *atomic.Uint64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	b.total.Add(uint64(n))
	b.left -= int64(n)
	if b.left < 0 {
		return 0, &bodyTooLargeError{limit: b.limit}
	}
	return n, err
}
