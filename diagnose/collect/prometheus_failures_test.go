package collect

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/internal/promstore"
)

// healthy is a small cluster with every kind of signal.
func healthy(t *testing.T) lab {
	l := newLab(t)
	for i := 1; i <= 2; i++ {
		target := fmt.Sprintf(`instance="h%d",broker_id="%d"`, i, i)
		l.broker(target, 10*time.Minute, 0, 10, 30)
		l.put(`kafka_server_fetchsessioncache_numincrementalfetchsessions{`+target+`}`, 10*time.Minute, 0, 20)
	}
	return l
}

func TestFailuresAreTypedAndSafe(t *testing.T) {
	const secretHost = "prom-internal.corp.example"
	answer := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code); fmt.Fprint(w, body) }
	}
	tests := []struct {
		name    string
		handler http.HandlerFunc
		want    diagnose.Status
		text    string
	}{
		{"500 with JSON", answer(500, `{"status":"error","errorType":"internal","error":"`+secretHost+` exploded"}`), diagnose.StatusFailed, "HTTP 500"},
		{"400", answer(400, `{"status":"error","errorType":"bad_data","error":"invalid parameter `+secretHost+`"}`), diagnose.StatusFailed, "bad_data"},
		{"422", answer(422, `{"status":"error","errorType":"execution","error":"expanding series: `+secretHost+`"}`), diagnose.StatusFailed, "execution"},
		{"422, too much", answer(422, `{"status":"error","errorType":"execution","error":"query processing would load too many samples into memory"}`), diagnose.StatusFailed, "more samples than Prometheus allows"},
		{"401", answer(401, `Unauthorized at `+secretHost), diagnose.StatusForbidden, "HTTP 401"},
		{"403", answer(403, `no`), diagnose.StatusForbidden, "HTTP 403"},
		{"404", answer(404, `404 page not found`), diagnose.StatusFailed, "no Prometheus API"},
		{"429", answer(429, `slow down`), diagnose.StatusFailed, "no more queries"},
		{"502 twice", answer(502, `<html>bad gateway</html>`), diagnose.StatusUnreachable, "HTTP 502, asked twice"},
		{"503 twice", answer(503, `Service Unavailable`), diagnose.StatusUnreachable, "HTTP 503, asked twice"},
		{"503 because of its own timeout", answer(503, `{"status":"error","errorType":"timeout","error":"query timed out"}`), diagnose.StatusTimeout, "took too long"},
		{"504", answer(504, ``), diagnose.StatusTimeout, "took too long"},
		{"a proxy's login page", answer(200, `<html><body>Sign in to `+secretHost+`</body></html>`), diagnose.StatusFailed, "does not come from a Prometheus API"},
		{"an empty body", answer(200, ``), diagnose.StatusFailed, "does not come from a Prometheus API"},
		{"success that is an error", answer(200, `{"status":"error","errorType":"timeout","error":"x"}`), diagnose.StatusTimeout, "took too long"},
		{"a scalar", answer(200, `{"status":"success","data":{"resultType":"scalar","result":[1796004000,"1"]}}`), diagnose.StatusFailed, "unexpected type"},
		{"truncated JSON", answer(200, `{"status":"success","data":{"resultType":"vector","result":[{"met`), diagnose.StatusFailed, "does not come from"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			p := promAt(t, tc.handler, PrometheusConfig{})
			res := p.Brokers(t.Context(), lookAt, lookBack, brokers(2))
			checkFailure(t, p, res, tc.want, tc.text, secretHost)
			r, clients := p.Clients(t.Context(), lookAt, lookBack, []string{"c"})
			if r.Status != tc.want || len(clients) != 0 {
				t.Errorf("clients %+v %v, want %s", r, clients, tc.want)
			}
		})
	}
}

// checkFailure asserts that the failure reaches every broker and every signal,
// and that no text shows an address.
func checkFailure(t *testing.T, p *Prometheus, res PrometheusResult, want diagnose.Status, text, secret string) {
	t.Helper()
	if res.Source.Status != want || !strings.Contains(res.Source.Error, text) {
		t.Errorf("source %+v, want %s %q", res.Source.Reading, want, text)
	}
	if len(res.Brokers) != 2 {
		t.Fatalf("%d brokers", len(res.Brokers))
	}
	for _, b := range res.Brokers {
		if b.Identity.Status != want || b.SoftwareReading.Status != want || len(b.Signals) != len(diagnose.BrokerSignals()) {
			t.Errorf("broker %d: identity %s, software %s, %d signals", b.ID, b.Identity.Status, b.SoftwareReading.Status, len(b.Signals))
		}
		for s, m := range b.Signals {
			if m.Status != want {
				t.Errorf("broker %d %s: %s, want %s", b.ID, s, m.Status, want)
			}
		}
	}
	shown := fmt.Sprintf("%+v", res)
	for _, leak := range []string{secret, p.set.base.Host, "http://"} {
		if strings.Contains(shown, leak) {
			t.Errorf("%q is shown: %+v", leak, res.Source.Reading)
		}
	}
}

func TestUnreachable(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	addr := closed.Listener.Addr().String()
	closed.Close()
	tlsServer := httptest.NewUnstartedServer(http.NotFoundHandler())
	tlsServer.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains about the client's refusal
	tlsServer.StartTLS()
	defer tlsServer.Close()
	for address, text := range map[string]string{
		"http://" + addr: "No connection",
		tlsServer.URL:    "TLS certificate",
	} {
		p, err := NewPrometheus(PrometheusConfig{URL: address}, discard())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		checkFailure(t, p, p.Brokers(ctx, lookAt, lookBack, brokers(2)), diagnose.StatusUnreachable, text, addr)
		cancel()
	}
}

func TestUnknownHostName(t *testing.T) {
	// Built by hand: a test asks no name server.
	err := &url.Error{Op: "Post", URL: "http://prom.corp.example:9090", Err: &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "prom.corp.example"}}}
	if s, text, _ := explain(err, 0); s != diagnose.StatusUnreachable || !strings.Contains(text, "cannot be resolved") || strings.Contains(text, "corp") {
		t.Errorf("%s %q", s, text)
	}
}

func TestSlowPrometheus(t *testing.T) {
	release := make(chan struct{})
	p := promAt(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}), PrometheusConfig{})
	defer close(release)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	checkFailure(t, p, p.Brokers(ctx, lookAt, lookBack, brokers(2)), diagnose.StatusTimeout, "did not answer in time", "127.0.0.1")
}

func TestHugeAnswer(t *testing.T) {
	var sent atomic.Int64
	p := promAt(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"status":"success","data":{"resultType":"vector","result":[`)
		for r.Context().Err() == nil {
			n, err := fmt.Fprint(w, strings.Repeat(`{"metric":{"a":"b"},"value":[1,"1"]},`, 1000))
			if err != nil {
				return
			}
			sent.Add(int64(n))
		}
	}), PrometheusConfig{MaxBodyBytes: 1 << 20})
	checkFailure(t, p, p.Brokers(t.Context(), lookAt, lookBack, brokers(2)), diagnose.StatusFailed, "larger than 1 MiB", "127.0.0.1")
	if got := p.Stats().Bytes; got > 1<<20+1 {
		t.Errorf("read %d bytes", got)
	}
}

func TestBodyOfExactlyTheLimitIsWhole(t *testing.T) {
	body := `{"status":"success","data":{"resultType":"vector","result":[]}}`
	p := promAt(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }), PrometheusConfig{MaxBodyBytes: int64(len(body))})
	if r := p.Brokers(t.Context(), lookAt, lookBack, brokers(1)).Source; r.Status != diagnose.StatusEmpty || r.Hint == "" {
		t.Errorf("%+v, want empty with a hint", r.Reading)
	}
}

// interposed answers the first n requests itself.
func interposed(first int64, code int, header string, next http.Handler) http.Handler {
	var n atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) > first {
			next.ServeHTTP(w, r)
			return
		}
		if header != "" {
			w.Header().Set("Retry-After", header)
		}
		w.WriteHeader(code)
	})
}

func TestRetryOnce(t *testing.T) {
	srv := promstore.NewServer(healthy(t).st, func() time.Time { return lookAt })
	for name, tc := range map[string]struct {
		code    int
		header  string
		want    diagnose.Status
		retries uint64
	}{
		"503 then ok":                   {503, "", diagnose.StatusOK, 1},
		"502 then ok":                   {502, "", diagnose.StatusOK, 1},
		"429 with Retry-After 0":        {429, "0", diagnose.StatusOK, 1},
		"429 with a long Retry-After":   {429, "60", diagnose.StatusFailed, 0},
		"500 is not asked again":        {500, "", diagnose.StatusFailed, 0},
		"429 with an HTTP date as time": {429, "Mon, 30 Nov 2026 02:16:00 GMT", diagnose.StatusOK, 1},
	} {
		p := promAt(t, interposed(1, tc.code, tc.header, srv), PrometheusConfig{})
		res := p.Brokers(t.Context(), lookAt, lookBack, brokers(2))
		if res.Source.Status != tc.want || p.Stats().Retries != tc.retries {
			t.Errorf("%s: %+v, %+v", name, res.Source.Reading, p.Stats())
		}
	}
}

// One failing query costs its own signals; the others stay.
func TestOneQueryFails(t *testing.T) {
	srv := promstore.NewServer(healthy(t).st, func() time.Time { return lookAt })
	p := promAt(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if q := r.FormValue("query"); strings.Contains(q, "errors_total") && !strings.Contains(q, "count by") {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		srv.ServeHTTP(w, r)
	}), PrometheusConfig{})
	res := p.Brokers(t.Context(), lookAt, lookBack, brokers(2))
	if res.Source.Status != diagnose.StatusPartial || res.Source.Error == "" || res.Source.Dialect != "jmx-examples" {
		t.Errorf("source %+v", res.Source)
	}
	b := byID(t, res, 1)
	if m := b.Signals[diagnose.SignalErrors70]; m.Status != diagnose.StatusFailed {
		t.Errorf("errors %+v: a failed query must not read as no errors", m)
	}
	if m := b.Signals[diagnose.SignalLeaders]; !m.OK() {
		t.Errorf("leaders %+v", m)
	}
	if m := b.Signals[diagnose.SignalFetchRequests]; m.Status != diagnose.StatusEmpty {
		t.Errorf("requests %+v", m)
	}
}

func TestWarningsMakePartial(t *testing.T) {
	srv := promstore.NewServer(healthy(t).st, func() time.Time { return lookAt })
	p := promAt(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		srv.ServeHTTP(rec, r)
		w.WriteHeader(rec.Code)
		fmt.Fprint(w, strings.Replace(rec.Body.String(), `"status":"success"`, `"status":"success","warnings":["store thanos-0.corp.example:10901 did not answer"]`, 1))
	}), PrometheusConfig{})
	res := p.Brokers(t.Context(), lookAt, lookBack, brokers(2))
	b := byID(t, res, 1)
	if res.Source.Status != diagnose.StatusPartial || b.Signals[diagnose.SignalLeaders].Status != diagnose.StatusPartial {
		t.Errorf("source %+v, leaders %+v", res.Source.Reading, b.Signals[diagnose.SignalLeaders].Reading)
	}
	if m := b.Signals[diagnose.SignalErrors70]; m.Status != diagnose.StatusPartial || len(m.Series) != 0 {
		t.Errorf("absent with warnings reads %+v, want partial: the series may be in the missing part", m)
	}
	if strings.Contains(fmt.Sprintf("%+v", res), "thanos") {
		t.Error("the warning's host name is shown")
	}
}

func TestEmptyIsNotFailed(t *testing.T) {
	p := prom(t, promstore.New(), PrometheusConfig{Selector: `{cluster="typo"}`})
	res := p.Brokers(t.Context(), lookAt, lookBack, brokers(1))
	if res.Source.Status != diagnose.StatusEmpty || res.Source.Error != "" || !strings.Contains(res.Source.Hint, "selector") || res.Source.Selector != `{cluster="typo"}` {
		t.Errorf("%+v", res.Source)
	}
	for s, m := range byID(t, res, 1).Signals {
		if m.Usable() || m.Hint == "" {
			t.Errorf("%s: %+v: no series of the broker must not read as zero", s, m.Reading)
		}
	}
	if r, _ := p.Clients(t.Context(), lookAt, lookBack, []string{"a"}); r.Status != diagnose.StatusNotExported || r.Hint == "" {
		t.Errorf("%+v", r)
	}
}
