package collect

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	saslplain "github.com/twmb/franz-go/pkg/sasl/plain"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// right is one ACL of the bot.
type right struct {
	resource kmsg.ACLResourceType
	name     string
	op       kmsg.ACLOperation
}

// readerRights are all that the bot needs.
var readerRights = []right{
	{kmsg.ACLResourceTypeGroup, "*", kmsg.ACLOperationDescribe},
	{kmsg.ACLResourceTypeTopic, "*", kmsg.ACLOperationDescribe},
	{kmsg.ACLResourceTypeTopic, offsetsTopic, kmsg.ACLOperationRead},
	{kmsg.ACLResourceTypeCluster, "kafka-cluster", kmsg.ACLOperationDescribe},
	{kmsg.ACLResourceTypeCluster, "kafka-cluster", kmsg.ACLOperationDescribeConfigs},
}

func without(drop right) []right {
	var out []right
	for _, r := range readerRights {
		if r != drop {
			out = append(out, r)
		}
	}
	return out
}

// guarded is a cluster with ACLs, one group with a member, and its log.
func guarded(t *testing.T, rights []right) *fakeKafka {
	t.Helper()
	var acls []kfake.ACL
	for _, r := range rights {
		acls = append(acls, kfake.ACL{Resource: r.resource, Name: r.name, Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: r.op, Allow: true})
	}
	admin := kgo.SASL(saslplain.Auth{User: "root", Pass: "r"}.AsMechanism())
	f := newFakeAs(t, 2, admin, kfake.SeedTopics(2, "t"), kfake.EnableSASL(), kfake.EnableACLs(),
		kfake.Superuser("PLAIN", "root", "r"), kfake.User("SCRAM-SHA-512", "bot", "b", acls...))
	f.k = f.client(KafkaConfig{SASL: SASLConfig{Mechanism: "SCRAM-SHA-512", Username: "bot", Password: "b"}})
	log := f.offsetsLog(4)
	f.produce("t", 2, 5)
	f.member("orders", "t")
	f.waitStable("orders", 1)
	now := time.Now()
	log.record("orders", now.Add(-time.Hour), 3, "a", "b")
	log.record("orders", now.Add(-time.Minute), 4, "a")
	time.Sleep(15 * time.Second)
	return f
}

// Each right that is missing costs its own section and is named.
func TestRights(t *testing.T) {
	for _, tc := range []struct {
		name   string
		rights []right
		group, history, slots,
		cluster diagnose.Status
		hint string
	}{
		{"all", readerRights, "ok", "ok", "ok", "ok", ""},
		{"no Read on the offsets topic", without(readerRights[2]), "ok", "forbidden", "ok", "ok", "needs Describe and Read on Topic __consumer_offsets"},
		{"no Describe on topics", without(readerRights[1]), "partial", "ok", "ok", "ok", "needs Describe on Topic t"},
		{"no DescribeConfigs", without(readerRights[4]), "ok", "ok", "forbidden", "ok", "needs DescribeConfigs on the Cluster"},
		{"no Describe on groups", without(readerRights[0]), "forbidden", "ok", "ok", "ok", "needs Describe on Group orders"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T) {
				f := guarded(t, tc.rights)
				e := f.collect(f.runner(nil, nil), diagnose.Request{Target: diagnose.Target{Group: "orders"}})
				g := e.Groups[0]
				if g.Status != tc.group || g.History.Status != tc.history || e.Brokers[0].Slots.Status != tc.slots || e.Cluster.Status != tc.cluster {
					t.Errorf("group %+v\nhistory %+v\nslots %+v\ncluster %+v", g.Reading, g.History.Reading, e.Brokers[0].Slots.Reading, e.Cluster.Reading)
				}
				hints := strings.Join([]string{g.Hint, g.History.Hint, e.Brokers[0].Slots.Hint, e.Cluster.Hint}, " ")
				if !strings.Contains(hints, tc.hint) || tc.hint == "" && strings.TrimSpace(hints) != "" {
					t.Errorf("hints %q, want %q", hints, tc.hint)
				}
			})
		})
	}
}

func TestWrongPassword(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := guarded(t, readerRights)
		f.k = f.client(KafkaConfig{SASL: SASLConfig{Mechanism: "SCRAM-SHA-512", Username: "bot", Password: "guess-4711"}})
		e := f.collect(f.runner(nil, nil), diagnose.Request{Target: diagnose.Target{Group: "orders"}})
		if e.Cluster.OK() || e.Cluster.Error == "" || strings.Contains(e.Cluster.Error+e.Cluster.Hint, "4711") {
			t.Errorf("cluster %+v", e.Cluster.Reading)
		}
	})
}

// Mutual TLS on real sockets.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	cert, pool := selfSigned(t, dir)
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.TLS(&tls.Config{
		Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool,
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	files := TLSConfig{Enabled: true, CAFile: filepath.Join(dir, "cert.pem"), CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem")}
	noClient, noCA := files, files
	noClient.CertFile, noClient.KeyFile = "", ""
	noCA.CAFile = ""
	for _, tc := range []struct {
		name   string
		cfg    TLSConfig
		status diagnose.Status
		hint   string
	}{
		{"both certificates", files, diagnose.StatusOK, ""},
		{"unknown authority", noCA, diagnose.StatusFailed, "ca_file"},
		{"no client certificate", noClient, "", ""},
		{"plain text", TLSConfig{}, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			k, err := NewKafka(KafkaConfig{BootstrapServers: c.ListenAddrs(), TLS: tc.cfg, RequestTimeout: 500 * time.Millisecond}, quiet())
			if err != nil {
				t.Fatal(err)
			}
			defer k.Close()
			e := NewRunner(RunnerConfig{Cluster: "c1", Kafka: k}, quiet()).Collect(t.Context(), diagnose.Request{})
			checkReadings(t, e)
			r := e.Cluster.Reading
			if tc.status == "" && r.OK() || tc.status != "" && r.Status != tc.status || !strings.Contains(r.Hint, tc.hint) {
				t.Errorf("%+v, want %q", r, tc.status)
			}
		})
	}
}

// selfSigned writes a certificate for the loopback that serves as its own
// authority.
func selfSigned(t *testing.T, dir string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
	for name, b := range map[string][]byte{"cert.pem": certPEM, "key.pem": keyPEM} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return pair, pool
}
