package collect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/diagnose/collect/internal/readkafka"
)

// failure is an error in the words of a Reading. No address, secret or stack
// trace is in it: it ends up in a Slack thread.
type failure struct {
	status diagnose.Status
	text   string
	hint   string
}

// kafkaFailure sorts an error of a Kafka request. need names the ACL that the
// request wants, for example "Describe on Group orders".
func kafkaFailure(err error, need string) failure {
	var ke *kerr.Error
	if errors.As(err, &ke) {
		return codeFailure(ke, need)
	}
	return transportFailure(err)
}

func codeFailure(ke *kerr.Error, need string) failure {
	switch ke.Code {
	case kerr.TopicAuthorizationFailed.Code, kerr.GroupAuthorizationFailed.Code, kerr.ClusterAuthorizationFailed.Code:
		f := failure{status: diagnose.StatusForbidden, text: "the broker refused: not authorized"}
		if need != "" {
			f.hint = "needs " + need
		}
		return f
	case kerr.SaslAuthenticationFailed.Code, kerr.UnsupportedSaslMechanism.Code, kerr.IllegalSaslState.Code:
		return failure{diagnose.StatusForbidden, "the broker refused the bot's credentials", "check the sasl block: mechanism, user, secret"}
	case kerr.UnsupportedVersion.Code:
		return failure{diagnose.StatusUnsupported, "this broker version does not know the request", ""}
	case kerr.RequestTimedOut.Code:
		return failure{diagnose.StatusTimeout, "the broker gave up on the request in time", ""}
	case kerr.NotCoordinator.Code, kerr.CoordinatorNotAvailable.Code, kerr.CoordinatorLoadInProgress.Code:
		return failure{diagnose.StatusFailed, "the group's coordinator is moving or loading; asked again at the next look", ""}
	case kerr.NotLeaderForPartition.Code, kerr.LeaderNotAvailable.Code, kerr.FencedLeaderEpoch.Code:
		return failure{diagnose.StatusFailed, "the partition's leader is moving; asked again at the next look", ""}
	case kerr.UnknownTopicOrPartition.Code, kerr.UnknownTopicID.Code:
		return failure{diagnose.StatusFailed, "the broker does not know the topic", ""}
	}
	return failure{diagnose.StatusFailed, "the broker answered " + ke.Message, ""}
}

func transportFailure(err error) failure {
	var (
		first *kgo.ErrFirstReadEOF
		cert  *tls.CertificateVerificationError
		roots x509.UnknownAuthorityError
		nerr  net.Error
		op    *net.OpError
	)
	switch {
	case errors.Is(err, readkafka.ErrCredentials):
		return failure{diagnose.StatusFailed, "the bot's Kafka credentials could not be loaded", "check the files or variables of the sasl block"}
	case errors.As(err, &cert), errors.As(err, &roots):
		return failure{diagnose.StatusFailed, "the broker's certificate is not trusted", "check tls: ca_file and server_name"}
	case errors.As(err, &first):
		return failure{diagnose.StatusUnreachable, "the broker closed the connection at once", "usually a listener with other security settings: check the tls and sasl blocks"}
	case errors.Is(err, readkafka.ErrTimeout), errors.Is(err, context.DeadlineExceeded), errors.As(err, &nerr) && nerr.Timeout():
		return failure{diagnose.StatusTimeout, "no answer in time", ""}
	case errors.Is(err, context.Canceled):
		return failure{diagnose.StatusSkipped, "stopped before it was read", ""}
	case errors.As(err, &op), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, net.ErrClosed),
		strings.Contains(err.Error(), "unknown broker"), strings.Contains(err.Error(), "unable to dial"),
		strings.Contains(err.Error(), "connection has died"):
		return failure{diagnose.StatusUnreachable, "the broker cannot be reached", ""}
	case strings.Contains(err.Error(), "broker is too old"):
		return failure{diagnose.StatusUnsupported, "this broker version does not know the request", ""}
	}
	return failure{diagnose.StatusFailed, "the request failed", ""}
}

// reading turns the failure into a Reading.
func (f failure) reading(source string, asOf time.Time) diagnose.Reading {
	return diagnose.Reading{Status: f.status, AsOf: asOf, Source: source, Error: f.text, Hint: f.hint}
}

// ok is the reading of something that was read whole.
func ok(source string, asOf time.Time) diagnose.Reading {
	return diagnose.Reading{Status: diagnose.StatusOK, AsOf: asOf, Source: source}
}

// skipped is the reading of something nobody asked for, with the reason.
func skipped(why string) diagnose.Reading {
	return diagnose.Reading{Status: diagnose.StatusSkipped, Error: why}
}

// took stamps the duration.
func took(r diagnose.Reading, since, now time.Time) diagnose.Reading {
	r.DurationMS = now.Sub(since).Milliseconds()
	return r
}
