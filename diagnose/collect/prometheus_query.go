package collect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// answer is one query's result: matrix for a range selector, vector for an
// instant query.
type answer struct {
	reading diagnose.Reading
	matrix  model.Matrix
	vector  model.Vector
}

// ask sends one instant query. The reading of the answer carries no text from
// the server and no address; both go to the log.
func (p *Prometheus) ask(ctx context.Context, query string, at time.Time) answer {
	ctx, c := withCall(ctx)
	began := time.Now()
	value, warnings, _, err := p.api.Query(ctx, query, at)
	a := answer{reading: diagnose.Reading{
		Status: diagnose.StatusOK, AsOf: at.UTC(), DurationMS: time.Since(began).Milliseconds(), Source: "prometheus: " + query,
	}}
	if err != nil {
		a.reading.Status, a.reading.Error, a.reading.Hint = explain(err, c.status)
		p.log.Warn("prometheus query failed", "query", query, "http_status", c.status, "status", string(a.reading.Status), "error", err)
		return a
	}
	switch v := value.(type) {
	case model.Matrix:
		a.matrix = v
	case model.Vector:
		a.vector = v
	default:
		a.reading.Status, a.reading.Error = diagnose.StatusFailed, "Prometheus answered with an unexpected type of result"
		return a
	}
	if len(warnings) > 0 {
		a.reading.Status = diagnose.StatusPartial
		a.reading.Error = fmt.Sprintf("Prometheus answered with %d warning(s): a part of the data may be missing", len(warnings))
		p.log.Warn("prometheus query has warnings", "query", query, "warnings", strings.Join(warnings, "; "))
	}
	return a
}

// explain turns an error into a status with a text that is safe to show: the
// library's texts contain the whole URL, and a proxy's page is part of them.
func explain(err error, status int) (diagnose.Status, string, string) {
	var big *bodyTooLargeError
	var apiErr *v1.Error
	switch {
	case errors.As(err, &big):
		return diagnose.StatusFailed, fmt.Sprintf("The answer of Prometheus is larger than %d MiB", big.limit>>20),
			"Narrow prometheus.selector, or raise prometheus.max_body_bytes."
	case errors.As(err, &apiErr):
		return explainAPI(apiErr, status)
	case isTimeout(err):
		return diagnose.StatusTimeout, "Prometheus did not answer in time", ""
	}
	return explainTransport(err)
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.As(err, &ne) && ne.Timeout()
}

func explainAPI(e *v1.Error, status int) (diagnose.Status, string, string) {
	code := "HTTP " + strconv.Itoa(status)
	switch {
	case e.Type == v1.ErrTimeout, e.Type == v1.ErrCanceled, status == http.StatusGatewayTimeout,
		strings.Contains(e.Detail, `"errorType":"timeout"`):
		return diagnose.StatusTimeout, "Prometheus gave up on the query because it took too long", ""
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return diagnose.StatusForbidden, "Prometheus refused access (" + code + ")", "Check prometheus.http_client (basic_auth, authorization, tls_config)."
	case status == http.StatusBadGateway, status == http.StatusServiceUnavailable:
		return diagnose.StatusUnreachable, "Prometheus is not available (" + code + ", asked twice)", ""
	case status == http.StatusTooManyRequests:
		return diagnose.StatusFailed, "Prometheus or its proxy takes no more queries just now (" + code + ")", ""
	case status == http.StatusNotFound:
		return diagnose.StatusFailed, "There is no Prometheus API at the configured address (" + code + ")", "Check prometheus.url and its path."
	case e.Type == v1.ErrExec && strings.Contains(e.Msg, "too many samples"):
		return diagnose.StatusFailed, "The query needs more samples than Prometheus allows", "Narrow prometheus.selector, or raise --query.max-samples."
	case e.Type == v1.ErrBadResponse && status < 300:
		return diagnose.StatusFailed, "The answer does not come from a Prometheus API (a proxy's page?)", "Check prometheus.url and prometheus.http_client."
	case e.Type == v1.ErrBadData, e.Type == v1.ErrExec:
		return diagnose.StatusFailed, "Prometheus could not run the query (" + string(e.Type) + ")", ""
	}
	return diagnose.StatusFailed, "Prometheus answered with an error (" + code + ")", ""
}

func explainTransport(err error) (diagnose.Status, string, string) {
	var cert *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &cert), errors.As(err, &unknown):
		return diagnose.StatusUnreachable, "The TLS certificate of Prometheus was not accepted", "Check prometheus.http_client.tls_config."
	case errors.As(err, &dns):
		return diagnose.StatusUnreachable, "The host name in prometheus.url cannot be resolved", ""
	case errors.As(err, &op):
		return diagnose.StatusUnreachable, "No connection to Prometheus", ""
	}
	return diagnose.StatusUnreachable, "The request to Prometheus failed", "The log has the details."
}

// link opens the selector in Prometheus' own page, as a graph that ends at `at`
// and reaches back rng. Empty without an external URL.
func (p *Prometheus) link(sel selector, at time.Time, rng time.Duration) string {
	if p.set.external == nil {
		return ""
	}
	u := *p.set.external
	u.Path = path.Join("/", u.Path, "graph")
	u.RawQuery = url.Values{
		"g0.expr": {sel.String()}, "g0.tab": {"0"},
		"g0.range_input": {model.Duration(rng).String()},
		"g0.end_input":   {at.UTC().Format("2006-01-02 15:04:05")},
	}.Encode()
	return u.String()
}
