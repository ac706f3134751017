package slackdouble

import (
	"net/http"
	"strconv"
	"time"
)

// Fault makes the next calls of a method fail. Exactly one of the ways should be
// set; Accept combines with Status, Hang or Cut: the call takes effect first.
type Fault struct {
	Method string
	// Times is how many calls fail; 1 if zero.
	Times int
	// RetryAfter answers 429.
	RetryAfter time.Duration
	// Status answers with a status and an HTML body.
	Status int
	// Word answers ok:false with this error.
	Word string
	// Hang gives no answer until the client hangs up.
	Hang bool
	// Cut breaks the connection.
	Cut bool
	// Accept lets the call take effect before the answer is lost.
	Accept bool
}

type fault struct {
	Fault
	left int
}

// Inject adds a fault; faults of a method are used up in order.
func (d *Double) Inject(f Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = append(d.faults, &fault{Fault: f, left: max(f.Times, 1)})
}

// UnusedFaults names the methods whose faults were never met, so that a test can
// see that it tested something.
func (d *Double) UnusedFaults() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for _, f := range d.faults {
		if f.left > 0 {
			out = append(out, f.Method)
		}
	}
	return out
}

func (d *Double) takeFault(method string) *fault {
	for _, f := range d.faults {
		if f.Method == method && f.left > 0 {
			f.left--
			return f
		}
	}
	return nil
}

// before answers instead of the method, unless the call is to take effect. It
// then lets go of d.mu.
func (f *fault) before(d *Double, c *call, w http.ResponseWriter, r *http.Request) bool {
	if f.Accept {
		return false
	}
	switch {
	case f.RetryAfter > 0:
		d.paused[c.method] = d.opts.Now().Add(f.RetryAfter)
		d.note(Entry{Kind: Called, Detail: c.method + " 429"})
	case f.Word != "":
		d.note(Entry{Kind: Called, Detail: c.method + " " + f.Word})
	default:
		d.note(Entry{Kind: Called, Detail: c.method + " fault"})
	}
	d.mu.Unlock()
	switch {
	case f.RetryAfter > 0:
		w.Header().Set("Retry-After", strconv.Itoa(int(f.RetryAfter.Seconds())))
		writeJSON(w, http.StatusTooManyRequests, fail("ratelimited"))
	case f.Word != "":
		writeJSON(w, http.StatusOK, fail(f.Word))
	default:
		f.after(w, r)
	}
	return true
}

// after loses the answer.
func (f *fault) after(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case f.Hang:
		<-r.Context().Done()
	case f.Cut:
		panic(http.ErrAbortHandler)
	case f.Status != 0:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.Status)
		_, _ = w.Write([]byte("<html><body>Server Error</body></html>"))
	default:
		return false
	}
	return true
}
