package lab

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"
)

//go:embed templates
var templateFiles embed.FS

// Delimiters are [[ ]], because Prometheus' own annotations use {{ }}.
var templates = template.Must(template.New("lab").Delims("[[", "]]").
	Option("missingkey=error").ParseFS(templateFiles, "templates/*.tmpl"))

func render(name string, data any) ([]byte, error) {
	var out bytes.Buffer
	if err := templates.ExecuteTemplate(&out, name, data); err != nil {
		return nil, fmt.Errorf("rendering %s: %w", name, err)
	}
	return out.Bytes(), nil
}

// static returns an embedded file that needs no values.
func static(name string) []byte {
	b, err := templateFiles.ReadFile("templates/" + name)
	if err != nil {
		panic(err) // embedded: wrong only if the program was built wrong
	}
	return b
}

func log4j2(version string) bool { return strings.HasPrefix(version, "4.") }

func renderPom(version, agent string) ([]byte, error) {
	return render("pom.xml.tmpl", struct {
		Version, Agent string
		Log4j2         bool
	}{version, agent, log4j2(version)})
}

type serverProperties struct {
	ID                        int
	Controller                bool
	KafkaAddr, ControllerAddr string
	DataDir                   string
	Replication               int
	OffsetsPartitions, Slots  int
	LeaderImbalanceSeconds    int
	ConsumerProtocol          bool
	Set                       []Setting
}

// renderServer gives node id's server.properties. Settings of the caller come
// last: in a properties file the last line of a key wins.
func renderServer(o Options, s *State, id int) ([]byte, error) {
	p := serverProperties{
		ID: id, Controller: id == 1,
		KafkaAddr: s.broker(id).Kafka, ControllerAddr: s.Controller,
		DataDir:           filepath.Join(s.brokerDir(id), "data"),
		Replication:       min(3, len(s.Brokers)),
		OffsetsPartitions: o.OffsetsPartitions, Slots: o.Slots,
		LeaderImbalanceSeconds: int(o.LeaderImbalanceCheck / time.Second),
		ConsumerProtocol:       log4j2(o.Version),
	}
	for _, set := range o.Set {
		if set.Broker == 0 || set.Broker == id {
			p.Set = append(p.Set, set)
		}
	}
	return render("server.properties.tmpl", p)
}

func renderPrometheus(o Options, s *State) ([]byte, error) {
	var targets []string
	for _, b := range s.Brokers {
		targets = append(targets, b.Metrics)
	}
	list, err := json.Marshal(targets)
	if err != nil {
		return nil, fmt.Errorf("writing the target list: %w", err)
	}
	return render("prometheus.yml.tmpl", struct{ Interval, Rules, Alertmanager, Targets, Cluster, TargetsDir string }{
		promDuration(o.ScrapeInterval), filepath.Join(s.Dir, "rules.yml"), hostPort(s.Alertmanager), string(list), o.Name, s.targetsDir(),
	})
}

func renderAlertmanager(url, tokenFile string) ([]byte, error) {
	quoted := ""
	if url != "" {
		b, err := json.Marshal(url) // a JSON string is a YAML string
		if err != nil {
			return nil, fmt.Errorf("writing the webhook URL: %w", err)
		}
		quoted = string(b)
	}
	return render("alertmanager.yml.tmpl", struct{ URL, TokenFile string }{quoted, tokenFile})
}

// renderRules gives the rule file: the caller's, or the lab's own. A cache counts
// as full at 95 % of its capacity (the same limit as the classifier's).
func renderRules(o Options) ([]byte, error) {
	if o.RulesFile != "" {
		b, err := os.ReadFile(o.RulesFile)
		if err != nil {
			return nil, fmt.Errorf("reading the rule file: %w", err)
		}
		return b, nil
	}
	c, w := capacity(o.Version, o.Slots), promDuration(o.AlertWindow)
	return render("rules.yml.tmpl", struct {
		Window, Range              string
		Capacity, FullAt, LagLimit int
	}{w, "[" + w + "]", c, max(1, c*95/100), 200})
}

// promDuration writes a duration the way Prometheus reads it: 90s, 1500ms.
func promDuration(d time.Duration) string {
	if d%time.Second == 0 {
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return fmt.Sprintf("%dms", d/time.Millisecond)
}

func hostPort(url string) string { return strings.TrimPrefix(url, "http://") }
