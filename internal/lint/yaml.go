package lint

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/kafka-oncall/kafka-oncall/internal/properties"
)

// ParseAll reads a file of any format: one Doc for a file of keys and values,
// one for each place with Kafka's settings in a YAML file (yaml_shapes.go knows
// the places). Docs with Skipped set hold nothing that is checked. The error is
// a *properties.Error, [ErrEmpty], or says that the kind cannot be told.
func ParseAll(name string, data []byte, kind Kind) ([]*Doc, error) {
	if kind != "" && !slices.Contains(Kinds(), kind) {
		return nil, fmt.Errorf("the kind %q is not known", kind)
	}
	if isYAML(name, data) {
		return parseYAML(name, data, kind, 0)
	}
	d, err := Parse(name, data, kind)
	if err != nil {
		return nil, err
	}
	return []*Doc{d}, nil
}

// Limits on a YAML document: what people write stays far below. Aliases count
// each time they are followed, so that a few lines cannot unfold to millions.
const (
	maxYAMLNodes = 100_000
	maxYAMLDepth = 100
	maxYAMLDocs  = 500
	// maxNested is how deep a file may stand in a file: application.yml in a
	// ConfigMap.
	maxNested = 2
)

// yamlStart is a line that only YAML has at the left margin; a .properties file
// may say "key: value", but hardly these.
var yamlStart = regexp.MustCompile(`(?m)^(?:---(?:\s|$)|(?:apiVersion|kind|metadata|spring|items):(?:\s|$)|\{\s*$)`)

func isYAML(name string, data []byte) bool {
	switch strings.ToLower(path.Ext(strings.ReplaceAll(name, `\`, "/"))) {
	case ".yaml", ".yml", ".json":
		return true
	case ".properties", ".conf", ".cfg", ".config", ".ini":
		return false
	}
	return yamlStart.Match(data[:min(len(data), 64<<10)])
}

// yamlFile is a YAML text while it is read.
type yamlFile struct {
	name   string
	kind   Kind
	nested int
	lines  []string
	docs   []*Doc
	// spring are the settings of Spring documents that hold for every profile.
	spring []*setting
}

func parseYAML(name string, data []byte, kind Kind, nested int) ([]*Doc, error) {
	lines, err := properties.Lines(data)
	if err != nil {
		return nil, err
	}
	parsed, err := parse(lines)
	if err != nil {
		return nil, err
	}
	f := &yamlFile{name: name, kind: kind, nested: nested, lines: lines}
	for i, d := range parsed.Docs {
		if i >= maxYAMLDocs {
			return nil, &properties.Error{Message: fmt.Sprintf("holds more than %d documents", maxYAMLDocs)}
		}
		if d.Body == nil {
			continue
		}
		if err := f.document(d.Body); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(f.docs, func(a, b *Doc) int { return cmp.Compare(a.Line, b.Line) })
	return f.docs, f.nothing()
}

// nothing is the error for a file without a single place that is read.
func (f *yamlFile) nothing() error {
	var why []string
	for _, d := range f.docs {
		if d.Skipped == "" {
			return nil
		}
		if len(why) < 3 {
			why = append(why, d.Part+": "+d.Skipped)
		}
	}
	message := "holds no Kafka settings that are read"
	if len(why) > 0 {
		message += " (" + strings.Join(why, "; ") + ")"
	}
	return &properties.Error{Message: message + ". Read are spring.kafka.…, config maps of Strimzi and Confluent for Kubernetes, and any map or text block with Kafka's keys, such as config: in Helm values or a ConfigMap's *.properties"}
}

// parse runs the library over text that is checked already. It panics on some
// inputs (goccy/go-yaml 1.19), which is no reason to crash.
func parse(lines []string) (file *ast.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			file, err = nil, &properties.Error{Message: "is no YAML that can be read"}
		}
	}()
	if line, deep := tooDeep(lines); deep {
		return nil, &properties.Error{Line: line, Column: 1, Message: fmt.Sprintf("nests more than %d levels", maxYAMLDepth)}
	}
	file, err = parser.ParseBytes([]byte(strings.Join(lines, "\n")), 0, parser.AllowDuplicateMapKey())
	if err == nil {
		return file, nil
	}
	out := &properties.Error{Message: "is no valid YAML"}
	var y yaml.Error
	if errors.As(err, &y) {
		out.Message += ": " + y.GetMessage()
		if t := y.GetToken(); t != nil && t.Position != nil {
			out.Line, out.Column = t.Position.Line, max(1, t.Position.Column)
		}
	}
	for _, l := range lines {
		if strings.Contains(l, "{{") {
			out.Message += ". A Helm chart's templates have to be rendered first: helm template CHART | kafka-oncall lint -"
			break
		}
	}
	return nil, out
}

// tooDeep bounds the recursion of the library before it starts: brackets that
// stay open, and lists in lists on one line.
func tooDeep(lines []string) (line int, deep bool) {
	open := 0
	for i, l := range lines {
		open = max(0, open+strings.Count(l, "[")+strings.Count(l, "{")-strings.Count(l, "]")-strings.Count(l, "}"))
		if open > 10*maxYAMLDepth || strings.Count(l, "- ") > maxYAMLDepth && strings.HasPrefix(strings.TrimSpace(l), "- - ") || strings.Count(l, "? ") > maxYAMLDepth {
			return i + 1, true
		}
	}
	return 0, false
}

// pair is a key of a mapping with its value.
type pair struct {
	key       string
	value     ast.Node
	line, col int
}

// tree reads the nodes of one document within bounds.
type tree struct {
	anchors map[string][]*ast.AnchorNode
	// lent are the anchors that a merge key (<<) takes over.
	lent map[*ast.AnchorNode]bool
	seen int
	err  error
}

func newTree(root ast.Node) *tree {
	t := &tree{anchors: map[string][]*ast.AnchorNode{}, lent: map[*ast.AnchorNode]bool{}}
	ast.Walk(&anchorWalk{t: t}, root)
	return t
}

// anchorWalk collects the anchors of a document.
type anchorWalk struct {
	t *tree
	// within are the anchors around a node.
	within []*ast.AnchorNode
}

// Visit takes an anchor, and refuses an alias inside of what it stands for. As an
// alias follows its anchor, there is no other way to make a circle.
func (w *anchorWalk) Visit(n ast.Node) ast.Visitor {
	switch x := n.(type) {
	case *ast.AnchorNode:
		if x.Name == nil {
			return w
		}
		name := x.Name.GetToken().Value
		w.t.anchors[name] = append(w.t.anchors[name], x)
		return &anchorWalk{t: w.t, within: append(slices.Clip(w.within), x)}
	case *ast.MappingValueNode:
		if _, merge := x.Key.(*ast.MergeKeyNode); merge {
			w.t.lend(x.Value)
		}
	case *ast.AliasNode:
		if x.Value == nil {
			return w
		}
		name := x.Value.GetToken().Value
		all := w.t.anchors[name]
		if len(all) > 0 && slices.Contains(w.within, all[len(all)-1]) && w.t.err == nil {
			line, col := position(x)
			at, _ := position(all[len(all)-1])
			w.t.err = &properties.Error{Line: line, Column: col, Message: fmt.Sprintf("*%s stands inside &%s of line %d, so it would hold itself without end", name, name, at)}
		}
	}
	return w
}

// lend notes the anchors behind a merge key.
func (t *tree) lend(n ast.Node) {
	switch x := n.(type) {
	case *ast.SequenceNode:
		for _, v := range x.Values {
			t.lend(v)
		}
	case *ast.AliasNode:
		if x.Value == nil {
			return
		}
		if all := t.anchors[x.Value.GetToken().Value]; len(all) > 0 {
			t.lent[all[len(all)-1]] = true
		}
	}
}

// resolve follows anchors, aliases and tags to what they stand for; nil when it
// leads nowhere.
func (t *tree) resolve(n ast.Node) ast.Node {
	for range maxYAMLDepth {
		switch x := n.(type) {
		case *ast.AnchorNode:
			n = x.Value
		case *ast.TagNode:
			n = x.Value
		case *ast.AliasNode:
			n = t.anchor(x)
		default:
			return n
		}
	}
	return nil
}

// anchor is the last one of that name before the alias.
func (t *tree) anchor(a *ast.AliasNode) ast.Node {
	if a.Value == nil {
		return nil
	}
	all := t.anchors[a.Value.GetToken().Value]
	i, _ := slices.BinarySearchFunc(all, a.GetToken().Position.Offset, func(x *ast.AnchorNode, at int) int {
		return cmp.Compare(x.GetToken().Position.Offset, at)
	})
	if i == 0 {
		return nil
	}
	return all[i-1].Value
}

// pairs lists the keys of a mapping, merged ones (<<) last and only where the
// mapping does not have the key itself. nil for anything else.
func (t *tree) pairs(n ast.Node) []pair { return t.merged(n, 0) }

func (t *tree) merged(n ast.Node, depth int) []pair {
	var values []*ast.MappingValueNode
	switch x := t.resolve(n).(type) {
	case *ast.MappingNode:
		values = x.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{x}
	}
	if depth > maxYAMLDepth || t.spend(len(values)) {
		return nil
	}
	var own, from []pair
	have := map[string]bool{}
	for _, v := range values {
		if _, merge := v.Key.(*ast.MergeKeyNode); merge {
			from = append(from, t.merge(v.Value, depth+1)...)
			continue
		}
		p := pair{key: t.keyText(v.Key), value: v.Value}
		p.line, p.col = position(v.Key)
		own, have[p.key] = append(own, p), true
	}
	for _, p := range from {
		if !have[p.key] {
			own, have[p.key] = append(own, p), true
		}
	}
	return own
}

// merge reads what stands behind <<: one mapping or a list of them.
func (t *tree) merge(n ast.Node, depth int) []pair {
	list, ok := t.resolve(n).(*ast.SequenceNode)
	if !ok {
		return t.merged(n, depth)
	}
	var out []pair
	for _, v := range list.Values {
		out = append(out, t.merged(v, depth)...)
	}
	return out
}

// items lists a sequence.
func (t *tree) items(n ast.Node) []ast.Node {
	s, ok := t.resolve(n).(*ast.SequenceNode)
	if !ok || t.spend(len(s.Values)) {
		return nil
	}
	return s.Values
}

// spend counts nodes; true when there are too many.
func (t *tree) spend(n int) bool {
	if t.seen += n + 1; t.seen > maxYAMLNodes && t.err == nil {
		t.err = &properties.Error{Message: fmt.Sprintf("unfolds to more than %d values, aliases followed: this is no configuration file", maxYAMLNodes)}
	}
	return t.err != nil
}

// get walks down by keys; nil when one is missing.
func (t *tree) get(n ast.Node, keys ...string) ast.Node {
	for _, k := range keys {
		var next ast.Node
		for _, p := range t.pairs(n) {
			if p.key == k {
				next = p.value
			}
		}
		if n = next; n == nil {
			return nil
		}
	}
	return t.resolve(n)
}

// text is a scalar by path, empty when there is none.
func (t *tree) text(n ast.Node, keys ...string) string {
	s, _ := t.scalar(t.get(n, keys...))
	return s
}

// scalar is the text of a value as a reader of YAML hands it on: 1_000 is 1000.
func (t *tree) scalar(n ast.Node) (string, bool) {
	switch x := t.resolve(n).(type) {
	case *ast.StringNode:
		return x.Value, true
	case *ast.LiteralNode:
		if x.Value == nil {
			return "", true
		}
		return x.Value.Value, true
	case *ast.IntegerNode:
		return fmt.Sprint(x.Value), true
	case *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return x.GetToken().Value, true
	case *ast.NullNode:
		return "", true
	default:
		return "", false
	}
}

func (t *tree) keyText(n ast.MapKeyNode) string {
	if k, ok := n.(*ast.MappingKeyNode); ok {
		s, _ := t.scalar(k.Value)
		return s
	}
	if s, ok := t.scalar(n); ok {
		return s
	}
	return ""
}

// position is where a node begins, counted from 1 in lines and characters.
func position(n ast.Node) (line, col int) {
	if tok := n.GetToken(); tok != nil && tok.Position != nil {
		return max(1, tok.Position.Line), max(1, tok.Position.Column)
	}
	return 1, 1
}
