package readkafka

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const password = "correct-horse-battery"

// A secret must not come out of any way of printing it.
func TestSecretsPrintMasked(t *testing.T) {
	cfg := Config{SASL: SASLConfig{Mechanism: mechPlain, Username: "bot", Password: password, OAuth: OAuthConfig{ClientSecret: password}}}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("config", "secret", cfg.SASL.Password, "config", cfg)
	text, _ := json.Marshal(cfg)
	for _, out := range []string{
		log.String(), string(text), fmt.Sprint(cfg), fmt.Sprintf("%+v", cfg), fmt.Sprintf("%#v", cfg), fmt.Sprintf("%s %q %x %v", cfg.SASL.Password, cfg.SASL.Password, cfg.SASL.Password, &cfg.SASL.Password),
	} {
		if strings.Contains(out, password) || strings.Contains(out, fmt.Sprintf("%x", password)) {
			t.Errorf("secret in %s", out)
		}
	}
}

func TestValidateNamesEveryProblem(t *testing.T) {
	for _, tc := range []struct {
		name string
		cfg  Config
		want []string
	}{
		{"nothing", Config{}, []string{"bootstrap_servers is empty"}},
		{"addresses", Config{BootstrapServers: []string{"kafka", "k:0", ":9092", "ok:9092"}}, []string{`bootstrap_servers[0]: "kafka"`, `bootstrap_servers[1]: "k:0"`, `bootstrap_servers[2]`}},
		{"tls", Config{BootstrapServers: []string{"a:1"}, TLS: TLSConfig{CertFile: "x"}}, []string{"enabled is false", "cert_file and key_file"}},
		{"mechanism", Config{BootstrapServers: []string{"a:1"}, SASL: SASLConfig{Mechanism: "GSSAPI"}}, []string{`"GSSAPI" is not known`}},
		{"no secret", Config{BootstrapServers: []string{"a:1"}, SASL: SASLConfig{Mechanism: "plain"}}, []string{"username is missing", "password_file or password_env is missing"}},
		{"two secrets", Config{BootstrapServers: []string{"a:1"}, SASL: SASLConfig{Mechanism: "PLAIN", Username: "u", PasswordFile: "f", PasswordEnv: "E"}}, []string{"give only one"}},
		{"oauth", Config{BootstrapServers: []string{"a:1"}, SASL: SASLConfig{Mechanism: "OAUTHBEARER"}}, []string{"either token_file or token_url"}},
		{"oauth endpoint", Config{BootstrapServers: []string{"a:1"}, SASL: SASLConfig{Mechanism: "OAUTHBEARER", OAuth: OAuthConfig{TokenURL: "http://idp/token"}}},
			[]string{"must be https", "client_id is missing", "client_secret_file or client_secret_env is missing"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := tc.cfg.Validate()
			for _, want := range tc.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %q in it", err, want)
				}
			}
		})
	}
}

// The client exposes reads only, and refuses the rest even from inside.
func TestNothingButReadsLeavesTheClient(t *testing.T) {
	c, err := New(Config{BootstrapServers: []string{"127.0.0.1:1"}}, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for key := range int16(kmsg.MaxKey + 1) {
		req := kmsg.RequestForKey(key)
		if req == nil || readOnly[key] {
			continue
		}
		if _, err := c.send(t.Context(), anyBroker, req); !errors.Is(err, ErrNotAllowed) {
			t.Errorf("%s was not refused: %v", kmsg.NameForKey(key), err)
		}
	}
	var methods []string
	for m := range reflect.TypeFor[*Client]().Methods() {
		methods = append(methods, m.Name)
	}
	want := "BrokerConfigs Close ConsumerGroupDescribe DescribeGroups Fetch GroupConfigs ListGroups ListOffsets MaxVersions Metadata OffsetFetch OffsetFetchOne QuorumLeader"
	if got := strings.Join(methods, " "); got != want {
		t.Errorf("methods %s\nwant %s", got, want)
	}
}

func TestReadsThroughSASL(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BOT_PASSWORD", password)
	for _, mech := range []string{mechPlain, mechScram2, mechScram5} {
		for name, sc := range map[string]SASLConfig{
			"file": {Mechanism: mech, Username: "bot", PasswordFile: file},
			"env":  {Mechanism: strings.ToLower(mech), Username: "bot", PasswordEnv: "BOT_PASSWORD"},
		} {
			t.Run(mech+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := connect(t, sc, kfake.EnableSASL(), kfake.Superuser(mech, "bot", password))
					if _, err := c.Metadata(t.Context(), nil); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

// connect starts a fake cluster on a virtual network.
func connect(t *testing.T, sc SASLConfig, opts ...kfake.Opt) *Client {
	t.Helper()
	vn := &kfake.VirtualNetwork{}
	cluster, err := kfake.NewCluster(append(opts, kfake.NumBrokers(1), kfake.Ports(9092), kfake.ListenFn(vn.Listen))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	c, err := New(Config{BootstrapServers: []string{"localhost:9092"}, SASL: sc}, nil, Options{Dialer: vn.DialContext})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestCredentialsThatCannotBeLoaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, SASLConfig{Mechanism: mechPlain, Username: "bot", PasswordFile: "/nonexistent/secret"},
			kfake.EnableSASL(), kfake.Superuser(mechPlain, "bot", password))
		_, err := c.Metadata(t.Context(), nil)
		if !errors.Is(err, ErrCredentials) || strings.Contains(err.Error(), "/nonexistent") {
			t.Errorf("error %v, want %v without the path", err, ErrCredentials)
		}
	})
}

func TestTokens(t *testing.T) {
	asked := 0
	status := http.StatusOK
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		id, secret, _ := r.BasicAuth()
		if err := r.ParseForm(); status == http.StatusOK && (err != nil || id != "bot" || secret != password || r.Form.Get("grant_type") != "client_credentials" || r.Form.Get("scope") != "kafka") {
			t.Errorf("request %v %v", r.Form, err)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"access_token":"tok-%d","token_type":"bearer","expires_in":3600,"note":%q}`, asked, password)
	}))
	defer srv.Close()
	o := OAuthConfig{TokenURL: srv.URL, ClientID: "bot", ClientSecret: password, Scopes: []string{"kafka"}}
	token, err := o.fromEndpoint()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got, err := token(t.Context())
		if err != nil || got.Reveal() != "tok-1" {
			t.Fatalf("token %q, error %v", got.Reveal(), err)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times for a token that was still good", asked)
	}
	status = http.StatusUnauthorized
	token, _ = o.fromEndpoint()
	if _, err := token(t.Context()); err == nil || !strings.Contains(err.Error(), "401") || strings.Contains(err.Error(), password) || strings.Contains(err.Error(), srv.URL) {
		t.Errorf("error %v, want the status and neither secret nor URL", err)
	}
}

func TestTokenFileIsReadAnew(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	o := OAuthConfig{TokenFile: file}
	for _, want := range []string{"first", "second"} {
		if err := os.WriteFile(file, []byte(want+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := o.fromFile(t.Context()); err != nil || got.Reveal() != want {
			t.Errorf("token %q, %v; want %q", got.Reveal(), err, want)
		}
	}
}

// One frozen broker must not look like a dead cluster.
func TestMetadataAsksAnotherBroker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		vn := &kfake.VirtualNetwork{}
		cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(9092), kfake.ListenFn(vn.Listen))
		if err != nil {
			t.Fatal(err)
		}
		defer cluster.Close()
		dial := func(ctx context.Context, network, host string) (net.Conn, error) {
			if host != "localhost:9092" {
				ours, theirs := net.Pipe()
				go func() { _, _ = io.Copy(io.Discard, theirs) }()
				return ours, nil
			}
			return vn.DialContext(ctx, network, host)
		}
		seeds := []string{"localhost:9095", "localhost:9092", "localhost:9096"}
		for range 5 { // the first one asked is random
			c, err := New(Config{BootstrapServers: seeds}, nil, Options{Dialer: dial})
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			if _, err := c.Metadata(t.Context(), nil); err != nil || time.Since(start) > 3*time.Second {
				t.Errorf("error %v after %s", err, time.Since(start))
			}
			c.Close()
		}
	})
}

// A broker that takes the connection and says nothing.
func TestSilentBrokerEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial := func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() {
				buf := make([]byte, 1024)
				for {
					if _, err := theirs.Read(buf); err != nil {
						return
					}
				}
			}()
			return ours, nil
		}
		c, err := New(Config{BootstrapServers: []string{"localhost:9092"}, RequestTimeout: 3 * time.Second}, nil, Options{Dialer: dial})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		start := time.Now()
		_, err = c.Metadata(t.Context(), nil)
		if took := time.Since(start); !errors.Is(err, ErrTimeout) || took > 3*time.Second {
			t.Errorf("error %v after %s", err, took)
		}
	})
}
