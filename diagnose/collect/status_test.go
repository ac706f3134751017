package collect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/diagnose/collect/internal/readkafka"
)

// The same trouble gives the same reading, whoever met it, and shows no address.
func TestKafkaFailure(t *testing.T) {
	dial := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 9092}, Err: syscall.ECONNREFUSED}
	for _, tc := range []struct {
		name   string
		err    error
		status diagnose.Status
		text   string
		hint   string
	}{
		{"group refused", kerr.GroupAuthorizationFailed, diagnose.StatusForbidden, "not authorized", "needs Describe on Group g"},
		{"topic refused", kerr.TopicAuthorizationFailed, diagnose.StatusForbidden, "not authorized", "needs Describe on Group g"},
		{"cluster refused", kerr.ClusterAuthorizationFailed, diagnose.StatusForbidden, "not authorized", "needs Describe on Group g"},
		{"wrong password", kerr.SaslAuthenticationFailed, diagnose.StatusForbidden, "credentials", "sasl"},
		{"old broker", kerr.UnsupportedVersion, diagnose.StatusUnsupported, "version", ""},
		{"broker timed out", kerr.RequestTimedOut, diagnose.StatusTimeout, "time", ""},
		{"coordinator moves", kerr.NotCoordinator, diagnose.StatusFailed, "next look", ""},
		{"leader moves", kerr.NotLeaderForPartition, diagnose.StatusFailed, "next look", ""},
		{"another code", kerr.UnknownServerError, diagnose.StatusFailed, "UNKNOWN_SERVER_ERROR", ""},
		{"deadline", context.DeadlineExceeded, diagnose.StatusTimeout, "no answer in time", ""},
		{"own timeout", fmt.Errorf("%w: %w", readkafka.ErrTimeout, dial), diagnose.StatusTimeout, "no answer in time", ""},
		{"stopped", context.Canceled, diagnose.StatusSkipped, "stopped", ""},
		{"connection refused", dial, diagnose.StatusUnreachable, "cannot be reached", ""},
		{"connection lost", io.EOF, diagnose.StatusUnreachable, "cannot be reached", ""},
		{"wrong listener", &kgo.ErrFirstReadEOF{}, diagnose.StatusUnreachable, "closed the connection", "tls and sasl"},
		{"certificate", &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, diagnose.StatusFailed, "not trusted", "ca_file"},
		{"credentials file", fmt.Errorf("%w: open /etc/secret", readkafka.ErrCredentials), diagnose.StatusFailed, "credentials could not be loaded", "sasl"},
		{"anything", errors.New("dial 10.1.2.3:9092 with hunter2"), diagnose.StatusFailed, "request failed", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := kafkaFailure(fmt.Errorf("DescribeGroups: %w", tc.err), "Describe on Group g")
			if f.status != tc.status || !strings.Contains(f.text, tc.text) || !strings.Contains(f.hint, tc.hint) {
				t.Errorf("%+v, want %s, %q, %q", f, tc.status, tc.text, tc.hint)
			}
			for _, bad := range []string{"10.1.2.3", "9092", "hunter2", "/etc"} {
				if strings.Contains(f.text+f.hint, bad) {
					t.Errorf("shows %q: %+v", bad, f)
				}
			}
		})
	}
}
