package readkafka

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// ErrCredentials says that the bot's own credentials could not be loaded, so
// the broker was never asked.
var ErrCredentials = errors.New("the bot's Kafka credentials could not be loaded")

// mechanism builds the SASL mechanism. Secrets are read at each connection.
func (s SASLConfig) mechanism() (sasl.Mechanism, error) {
	switch s.Mechanism {
	case mechPlain:
		return plain.Plain(func(context.Context) (plain.Auth, error) {
			pass, err := s.loadPassword()
			return plain.Auth{User: s.Username, Pass: pass.Reveal()}, err
		}), nil
	case mechScram2:
		return scram.Sha256(s.scram), nil
	case mechScram5:
		return scram.Sha512(s.scram), nil
	case mechOAuth:
		return s.OAuth.mechanism()
	}
	return nil, fmt.Errorf("sasl: mechanism %q is not known", s.Mechanism)
}

func (s SASLConfig) scram(context.Context) (scram.Auth, error) {
	pass, err := s.loadPassword()
	return scram.Auth{User: s.Username, Pass: pass.Reveal()}, err
}

func (s SASLConfig) loadPassword() (Secret, error) {
	pass, err := s.password().load()
	if err != nil {
		return "", fmt.Errorf("%w: sasl: %w", ErrCredentials, err)
	}
	return pass, nil
}

func (o OAuthConfig) mechanism() (sasl.Mechanism, error) {
	token := o.fromFile
	if o.TokenURL != "" {
		var err error
		if token, err = o.fromEndpoint(); err != nil {
			return nil, err
		}
	}
	return oauth.Oauth(func(ctx context.Context) (oauth.Auth, error) {
		t, err := token(ctx)
		if err != nil {
			return oauth.Auth{}, fmt.Errorf("%w: sasl.oauth: %w", ErrCredentials, err)
		}
		return oauth.Auth{Token: t.Reveal(), Extensions: o.Extensions}, nil
	}), nil
}

func (o OAuthConfig) fromFile(context.Context) (Secret, error) {
	return source{field: "token", file: o.TokenFile}.load()
}

// fromEndpoint keeps a token until shortly before it expires.
func (o OAuthConfig) fromEndpoint() (func(context.Context) (Secret, error), error) {
	client := &http.Client{Timeout: 5 * time.Second}
	if o.CAFile != "" {
		pool, err := loadRoots(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("sasl.oauth: ca_file: %w", err)
		}
		client.Transport = &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	}
	cached := oauth2.ReuseTokenSource(nil, tokenFunc(func() (*oauth2.Token, error) {
		secret, err := o.secret().load()
		if err != nil {
			return nil, err
		}
		cc := clientcredentials.Config{ClientID: o.ClientID, ClientSecret: secret.Reveal(), TokenURL: o.TokenURL, Scopes: o.Scopes}
		// The token outlives the call that fetched it, so the caller's context
		// must not be bound to it; the HTTP client has its own timeout.
		t, err := cc.Token(context.WithValue(context.Background(), oauth2.HTTPClient, client))
		return t, tokenError(err)
	}))
	return func(context.Context) (Secret, error) {
		t, err := cached.Token()
		if err != nil {
			return "", err
		}
		return Secret(t.AccessToken), nil
	}, nil
}

type tokenFunc func() (*oauth2.Token, error)

func (f tokenFunc) Token() (*oauth2.Token, error) { return f() }

// tokenError keeps what helps and drops the answer's body and URL, which may
// hold secrets.
func tokenError(err error) error {
	var re *oauth2.RetrieveError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &re) && re.Response != nil:
		return fmt.Errorf("the token endpoint answered %d", re.Response.StatusCode)
	}
	return errors.New("the token endpoint did not answer")
}
