package lint

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"

	"github.com/kafka-oncall/kafka-oncall/internal/properties"
)

// document reads one YAML document: a list of Kubernetes objects, a resource of
// an operator, Spring's application.yml, or anything with Kafka's keys in it.
func (f *yamlFile) document(root ast.Node) error {
	t := newTree(root)
	f.object(t, root, 0)
	if t.err != nil {
		return t.err
	}
	return nil
}

func (f *yamlFile) object(t *tree, n ast.Node, depth int) {
	kind, api := t.text(n, "kind"), t.text(n, "apiVersion")
	if items := t.get(n, "items"); strings.HasSuffix(kind, "List") && items != nil && depth < maxYAMLDepth {
		for _, x := range t.items(items) {
			f.object(t, x, depth+1)
		}
		return
	}
	o := object{f: f, t: t, root: n, before: len(f.docs)}
	o.line, _ = position(first(t, n))
	switch {
	case api != "" && kind != "":
		o.name = strings.TrimSpace(kind + " " + t.text(n, "metadata", "name"))
		o.resource(kind, api)
	default:
		o.name = fmt.Sprintf("document in line %d", o.line)
		o.spring()
		o.search(n, "", 0)
	}
	if len(f.docs) == o.before && t.err == nil {
		o.skip(o.name, "no Kafka settings in it")
	}
}

// first is where a mapping begins: its node points to the first colon.
func first(t *tree, n ast.Node) ast.Node {
	switch x := t.resolve(n).(type) {
	case *ast.MappingNode:
		if len(x.Values) > 0 {
			return x.Values[0].Key
		}
	case *ast.MappingValueNode:
		return x.Key
	}
	return n
}

// object is one document or list item while it is read.
type object struct {
	f    *yamlFile
	t    *tree
	root ast.Node
	// name is "Kafka orders" or "document in line 1".
	name    string
	line    int
	before  int
	version Version
	// isSpring says that it holds spring.kafka.….
	isSpring bool
}

// place is where a resource of an operator has settings.
type place struct {
	path string
	kind Kind
	// connector says that only settings of its clients are Kafka's.
	connector bool
}

// places of the resources of Strimzi (API reference, v1beta2 and v1) and, as
// lists of key=value, Confluent for Kubernetes.
var places = map[string][]place{
	"Kafka":             {{"spec.kafka.config", Broker, false}, {"spec.configOverrides.server", Broker, false}},
	"KafkaConnect":      {{"spec.config", Connect, false}},
	"Connect":           {{"spec.configOverrides.server", Connect, false}},
	"KafkaConnector":    {{"spec.config", Connect, true}},
	"KafkaMirrorMaker":  {{"spec.consumer.config", Java, false}, {"spec.producer.config", Java, false}},
	"KafkaBridge":       {{"spec.consumer.config", Java, false}, {"spec.producer.config", Java, false}},
	"KafkaMirrorMaker2": {{"spec.clusters[].config", Connect, false}, {"spec.target.config", Connect, false}, {"spec.mirrors[].source.config", Connect, false}, {"spec.mirrors[].sourceConnector.config", Connect, true}, {"spec.mirrors[].checkpointConnector.config", Connect, true}, {"spec.mirrors[].heartbeatConnector.config", Connect, true}},
}

func (o *object) resource(kind, api string) {
	operator := strings.Contains(api, "strimzi.io/") || strings.Contains(api, "confluent.io/")
	ps, ok := places[kind]
	switch {
	case operator && ok:
		for _, key := range [][]string{{"spec", "kafka", "version"}, {"spec", "version"}} {
			if v, err := ParseVersion(o.t.text(o.root, key...)); err == nil {
				o.version = v
			}
		}
		var paths []string
		for _, p := range ps {
			o.at(p, o.root, "", strings.Split(p.path, "."))
			paths = append(paths, p.path)
		}
		if len(o.f.docs) == o.before {
			o.skip(o.name, "nothing in "+strings.Join(paths, ", "))
		}
	case operator:
		o.skip(o.name, "a "+kind+" has no settings of clients or brokers")
	case kind == "Secret" && o.t.get(o.root, "data") != nil:
		o.skip(o.name, "what a Secret holds is encoded, and not read")
		o.search(o.t.get(o.root, "stringData"), "stringData", 0)
	default:
		o.search(o.root, "", 0)
	}
}

// at walks to a place; [] goes through a list.
func (o *object) at(p place, n ast.Node, label string, keys []string) {
	if len(keys) == 0 {
		o.config(p, n, label)
		return
	}
	key, list := strings.CutSuffix(keys[0], "[]")
	next := o.t.get(n, key)
	if next == nil {
		return
	}
	label = join(label, key)
	if !list {
		o.at(p, next, label, keys[1:])
		return
	}
	for i, x := range o.t.items(next) {
		o.at(p, x, fmt.Sprintf("%s[%d]", label, i), keys[1:])
	}
}

func join(a, b string) string { return strings.TrimPrefix(a+"."+b, ".") }

// config reads a map of settings, or a list of key=value lines.
func (o *object) config(p place, n ast.Node, label string) {
	entries := o.flat(n, "", 0)
	for _, x := range o.t.items(n) {
		s, _ := o.t.scalar(x)
		key, value, ok := strings.Cut(s, "=")
		if line, col := position(x); ok {
			entries = append(entries, properties.Entry{Key: strings.TrimSpace(key), Value: strings.TrimSpace(value), Line: line, Column: col, ValueLine: line, ValueColumn: col})
		}
	}
	if p.connector {
		if entries = connectorClients(entries); len(entries) == 0 {
			o.skip(o.name+" "+label, "a connector's own settings are not checked, only those of its clients (consumer.override.…)")
			return
		}
	}
	o.add(label, p.kind, entries)
}

// connectorClients keeps the settings of a connector's clients; MirrorMaker 2
// says source. and target. before them (MirrorConnectorConfig).
func connectorClients(in []properties.Entry) []properties.Entry {
	var out []properties.Entry
	for _, e := range in {
		key := strings.TrimPrefix(strings.TrimPrefix(e.Key, "source."), "target.")
		if strings.HasPrefix(key, "consumer.") || strings.HasPrefix(key, "producer.") || strings.HasPrefix(key, "admin.") {
			e.Key = key
			out = append(out, e)
		}
	}
	return out
}

// flat turns nested maps into dotted keys, as Spring does; a key in brackets
// goes on without a dot.
func (o *object) flat(n ast.Node, prefix string, depth int) []properties.Entry {
	if depth > maxYAMLDepth {
		return nil
	}
	var out []properties.Entry
	for _, p := range o.t.pairs(n) {
		key := join(prefix, p.key)
		if prefix != "" && strings.HasPrefix(p.key, "[") {
			key = prefix + p.key
		}
		v, scalar := o.t.scalar(p.value)
		if !scalar {
			out = append(out, o.flat(p.value, key, depth+1)...)
			continue
		}
		line, col := p.line, p.col
		if p.value != nil {
			line, col = position(p.value)
		}
		out = append(out, properties.Entry{Key: key, Value: v, Line: p.line, Column: p.col, ValueLine: line, ValueColumn: col})
	}
	return out
}

// add makes a Doc of what a place holds.
func (o *object) add(label string, kind Kind, entries []properties.Entry) {
	if len(entries) == 0 {
		return
	}
	if len(entries) > properties.MaxEntries {
		o.t.err = &properties.Error{Line: entries[0].Line, Column: entries[0].Column, Message: fmt.Sprintf("more than %d keys: this is no configuration file", properties.MaxEntries)}
		return
	}
	d := &Doc{Name: o.f.name, Kind: kind, Part: strings.TrimSpace(o.name + " " + label), Line: entries[0].Line, yaml: true, version: o.version}
	for _, e := range entries {
		d.settings = append(d.settings, newSetting(kind, e))
	}
	o.f.docs = append(o.f.docs, d)
}

func (o *object) skip(part, why string) {
	o.f.docs = append(o.f.docs, &Doc{Name: o.f.name, Part: part, Line: o.line, Skipped: why, yaml: true})
}

// spring reads spring.kafka.… of an application.yml. A document for a profile
// stands on those for all.
func (o *object) spring() {
	var own, bare []properties.Entry
	profile := ""
	for _, e := range o.flat(o.root, "", 0) {
		switch {
		case strings.HasPrefix(e.Key, "spring.kafka."):
			own = append(own, e)
		case bareKey(e.Key):
			bare = append(bare, e)
		case e.Key == "spring.config.activate.on-profile", e.Key == "spring.profiles":
			profile = e.Value
		}
	}
	if len(own) == 0 {
		return
	}
	own, o.isSpring = append(own, bare...), true
	label := "spring.kafka"
	if profile != "" {
		label += ", profile " + profile
	}
	o.add(label, Spring, own)
	if o.t.err != nil {
		return
	}
	d := o.f.docs[len(o.f.docs)-1]
	mine := d.settings
	for _, s := range o.f.spring {
		have := func(x *setting) bool { return x.name == s.name && x.scope == s.scope }
		if !slices.ContainsFunc(mine, have) {
			c := *s
			c.inherited = true
			d.settings = append(d.settings, &c)
		}
	}
	if profile == "" {
		o.f.spring = append(o.f.spring, mine...)
	}
}

// search finds settings wherever they stand: maps with Kafka's keys and texts
// with lines of key=value.
func (o *object) search(n ast.Node, label string, depth int) {
	if n == nil || depth > maxYAMLDepth || o.t.err != nil {
		return
	}
	var found []properties.Entry
	sure := false
	for _, p := range o.t.pairs(n) {
		at := join(label, p.key)
		if label == "" && (p.key == "spring" || p.key == "spring.kafka" || strings.HasPrefix(p.key, "spring.kafka.")) {
			continue // read as Spring's
		}
		if label == "" && o.isSpring && bareKey(p.key) {
			continue // told there
		}
		s, scalar := o.t.scalar(p.value)
		switch {
		case !scalar:
			o.search(p.value, at, depth+1)
		case strings.Contains(s, "\n"):
			o.block(p, at, s)
		case strings.Contains(p.key, ".") && !strings.HasPrefix(p.key, "spring.") || settingWord(p.key):
			line, col := position(p.value)
			found = append(found, properties.Entry{Key: p.key, Value: s, Line: p.line, Column: p.col, ValueLine: line, ValueColumn: col})
			sure = sure || strings.Contains(p.key, ".") && knownAnywhere(p.key)
		}
	}
	block, anchored := n.(*ast.AnchorNode)
	switch {
	case !sure:
	case anchored && o.t.lent[block] && !namesClient(found):
		o.skip(o.name+" "+label, "a block for others: it is checked where they take it over")
	default:
		kind, err := tellEntries(found)
		if o.f.kind != "" {
			kind, err = o.f.kind, nil
		}
		switch {
		case err != nil:
			o.skip(o.name+" "+label, err.Error())
		default:
			o.add(label, kind, found)
		}
	}
	for i, x := range o.t.items(n) {
		o.search(x, fmt.Sprintf("%s[%d]", label, i), depth+1)
	}
}

// namesClient says that settings are a client's of their own: they say who it is, or
// where it connects to.
func namesClient(in []properties.Entry) bool {
	return slices.ContainsFunc(in, func(e properties.Entry) bool {
		switch e.Key {
		case "group.id", "client.id", "application.id", "bootstrap.servers":
			return true
		default:
			return false
		}
	})
}

// settingWord is a key of Kafka without a dot that stands among dotted ones.
func settingWord(key string) bool { return key == "acks" || key == "retries" }

func knownAnywhere(key string) bool {
	for _, k := range []Kind{Java, Streams, Connect, Librdkafka, Broker} {
		name := newSetting(k, properties.Entry{Key: key}).name
		if known(k.roles(), name) || name == inventedKey {
			return true
		}
	}
	return false
}

// block reads a text of several lines: a file in a ConfigMap, or extra lines in
// Helm values.
func (o *object) block(p pair, label, s string) {
	ext := strings.ToLower(path.Ext(p.key))
	inner := o.lines(p.value, s)
	switch {
	case isYAML(p.key, []byte(s)):
		if o.f.nested >= maxNested {
			o.skip(o.name+" "+label, "a file in a file in a file is not read")
			return
		}
		docs, err := parseYAML(o.f.name, []byte(s), o.f.kind, o.f.nested+1)
		if err != nil {
			o.skip(o.name+" "+label, problem(err))
			return
		}
		for _, d := range docs {
			d.Part = o.name + " " + label + ", " + d.Part
			inner.move(d)
		}
		o.f.docs = append(o.f.docs, docs...)
	case ext == ".properties" || ext == ".conf" || ext == ".cfg" || ext == ".config" || settingsText(s):
		d, err := Parse(o.f.name, []byte(s), o.f.kind)
		var at *properties.Error
		switch {
		case errors.As(err, &at):
			line, col := inner.at(at.Line, at.Column)
			o.t.err = &properties.Error{Line: line, Column: col, Message: label + ": " + at.Message}
			return
		case err != nil:
			o.skip(o.name+" "+label, err.Error())
			return
		}
		d.Part, d.Line, d.yaml, d.version = o.name+" "+label, p.line, false, o.version
		inner.move(d)
		o.f.docs = append(o.f.docs, d)
	}
}

func problem(err error) string {
	var at *properties.Error
	if errors.As(err, &at) {
		return at.Message
	}
	return err.Error()
}

// settingsText says that a text has lines with Kafka's keys.
func settingsText(s string) bool {
	entries, err := properties.ParseJava([]byte(s))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(entries, func(e properties.Entry) bool {
		return strings.Contains(e.Key, ".") && (knownAnywhere(e.Key) || strings.HasPrefix(e.Key, "spring.kafka."))
	})
}

// inset says where the lines of a text inside the file stand in the file.
type inset struct {
	line, col int
	// indent of each line; nil where the text is written with escapes, and all
	// of it stands in one place.
	indent []int
}

func (o *object) lines(n ast.Node, s string) inset {
	n = o.t.resolve(n)
	in := inset{}
	in.line, in.col = position(n)
	x, ok := n.(*ast.LiteralNode)
	if !ok || x.Start == nil || !strings.HasPrefix(x.Start.Value, "|") {
		return in
	}
	for i, l := range strings.Split(strings.TrimSuffix(s, "\n"), "\n") {
		if in.line+i >= len(o.f.lines) {
			return inset{line: in.line, col: in.col}
		}
		raw := strings.TrimRight(o.f.lines[in.line+i], " ")
		l = strings.TrimRight(l, " ")
		if !strings.HasSuffix(raw, l) {
			return inset{line: in.line, col: in.col}
		}
		in.indent = append(in.indent, utf8.RuneCountInString(raw)-utf8.RuneCountInString(l))
	}
	return in
}

// at is the place of a line and column of the text in the file.
func (in inset) at(line, col int) (int, int) {
	if line < 1 || line > len(in.indent) {
		return in.line, in.col
	}
	return in.line + line, in.indent[line-1] + col
}

// move shifts a Doc that was read from the text to its place in the file.
func (in inset) move(d *Doc) {
	if d.Line > 0 && d.yaml {
		d.Line, _ = in.at(d.Line, 1)
	}
	for _, s := range d.settings {
		s.Line, s.Column = in.at(s.Line, s.Column)
		s.ValueLine, s.ValueColumn = in.at(s.ValueLine, s.ValueColumn)
	}
}
