package strictyaml

import (
	"encoding"
	"fmt"
	"reflect"
	"sort"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// maxProblems bounds what one file reports.
const maxProblems = 50

type checker struct {
	doc      *Document
	problems []Problem
}

func (c *checker) add(p Problem) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, p)
	}
}

// check walks a node beside the type it will fill.
func (c *checker) check(n ast.Node, t reflect.Type, path string) {
	if a, ok := n.(*ast.AnchorNode); ok {
		n = a.Value
	}
	switch n.(type) {
	case *ast.AliasNode, *ast.NullNode:
		return // the anchor is checked where it stands; null keeps the default
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case isLeaf(t):
		c.leaf(n, t, path)
	case t.Kind() == reflect.Struct:
		c.checkStruct(n, t, path)
	case t.Kind() == reflect.Map:
		for _, e := range c.entries(n, t, path) {
			c.check(e.Value, t.Elem(), join(path, keyText(e)))
		}
	case t.Kind() == reflect.Slice:
		c.checkList(n, t, path)
	default:
		c.leaf(n, t, path)
	}
}

func (c *checker) checkStruct(n ast.Node, t reflect.Type, path string) {
	fields := fieldsOf(t)
	for _, e := range c.entries(n, t, path) {
		key := keyText(e)
		ft, ok := fields[key]
		if !ok {
			c.add(c.doc.at(e.Key, join(path, key), unknownKey(key, fields)))
			continue
		}
		c.check(e.Value, ft, join(path, key))
	}
}

func (c *checker) checkList(n ast.Node, t reflect.Type, path string) {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		c.add(c.doc.at(n, path, "wants a list"))
		return
	}
	for i, v := range s.Values {
		c.check(v, t.Elem(), fmt.Sprintf("%s[%d]", path, i))
	}
}

// entries returns the entries of a mapping and reports doubled keys.
func (c *checker) entries(n ast.Node, t reflect.Type, path string) []*ast.MappingValueNode {
	var all []*ast.MappingValueNode
	switch m := n.(type) {
	case *ast.MappingNode:
		all = m.Values
	case *ast.MappingValueNode:
		all = []*ast.MappingValueNode{m}
	default:
		c.add(c.doc.at(n, path, "wants "+kindWords(t)))
		return nil
	}
	seen := map[string]bool{}
	for _, e := range all {
		if k := keyText(e); seen[k] {
			c.add(c.doc.at(e.Key, join(path, k), "the key stands here twice"))
		} else {
			seen[k] = true
		}
	}
	return all
}

// leaf decodes one value by itself, so that its error has a place.
func (c *checker) leaf(n ast.Node, t reflect.Type, path string) {
	err := yaml.NodeToValue(n, reflect.New(t).Interface(), yaml.Strict())
	switch {
	case err == nil:
	case t == reflect.TypeFor[time.Duration]():
		c.add(c.doc.at(n, path, "wants "+kindWords(t)))
	default:
		c.add(c.doc.problem(err, n, path))
	}
}

var (
	bytesUnmarshaler = reflect.TypeFor[yaml.BytesUnmarshaler]()
	ifaceUnmarshaler = reflect.TypeFor[yaml.InterfaceUnmarshaler]()
	textUnmarshaler  = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// isLeaf tells types that decode themselves.
func isLeaf(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(bytesUnmarshaler) || p.Implements(ifaceUnmarshaler) || p.Implements(textUnmarshaler) ||
		t == reflect.TypeFor[time.Duration]() || t == reflect.TypeFor[time.Time]() || t.Kind() == reflect.Interface
}

// fieldsOf lists the keys of a struct with their types; inlined structs count
// as their parent's.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case !f.IsExported() || name == "-":
		case strings.Contains(opts, "inline"):
			ft := f.Type
			for ft.Kind() == reflect.Pointer {
				ft = ft.Elem()
			}
			for k, v := range fieldsOf(ft) {
				out[k] = v
			}
		case name == "":
			out[strings.ToLower(f.Name)] = f.Type
		default:
			out[name] = f.Type
		}
	}
	return out
}

func unknownKey(key string, fields map[string]reflect.Type) string {
	names := make([]string, 0, len(fields))
	for k := range fields {
		names = append(names, k)
	}
	sort.Strings(names)
	best := Nearest(key, names)
	if best != "" {
		return fmt.Sprintf("unknown key; did you mean %q?", best)
	}
	return "unknown key; known here: " + strings.Join(names, ", ")
}

// Nearest returns the candidate that a mistyped word was probably meant to be,
// or nothing when none is near.
func Nearest(word string, candidates []string) string {
	best, score := "", 6
	for _, c := range candidates {
		far := distance(c, word)
		// Twice the distance, plus one for another length: "nmae" is "name", not "map".
		if s := 2*far + min(1, max(len(c)-len(word), len(word)-len(c))); far <= 2 && s < score {
			best, score = c, s
		}
	}
	return best
}

// distance is the edit distance of two words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		prev := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := prev
			if a[i-1] != b[j-1] {
				cost++
			}
			prev = row[j]
			row[j] = min(row[j]+1, row[j-1]+1, cost)
		}
	}
	return row[len(b)]
}

func keyText(e *ast.MappingValueNode) string {
	if s, ok := e.Key.(*ast.StringNode); ok {
		return s.Value
	}
	return e.Key.String()
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// Fields lists every key that a document for t may hold, as paths; lists show
// as []. Types that decode themselves end a path.
func Fields(t reflect.Type) []string {
	var out []string
	collectFields(t, "", &out)
	sort.Strings(out)
	return out
}

func collectFields(t reflect.Type, path string, out *[]string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case !isLeaf(t) && t.Kind() == reflect.Struct:
		for name, ft := range fieldsOf(t) {
			collectFields(ft, join(path, name), out)
		}
	case !isLeaf(t) && t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		collectFields(t.Elem(), path+"[]", out)
	default:
		*out = append(*out, path)
	}
}
