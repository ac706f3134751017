// Package strictyaml decodes one YAML document and reports every mistake in it
// at once, each with its line, column and field.
//
// The YAML library stops at its first error, so a person would mend a file one
// error a run. Here the parsed document is walked beside the Go type that it is
// to fill: unknown keys, doubled keys and values of the wrong type are
// collected, and only a document without problems is decoded.
//
// The configuration file (cmd/kafka-oncall) and the playbooks use it.
package strictyaml

import (
	"errors"
	"fmt"
	"reflect"
	"sort"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Problem is one mistake. Line and Column count from 1 and are 0 when the
// mistake has no place in a file.
type Problem struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	// Field is the path to the key, for example clusters[0].prometheus.url.
	Field   string `json:"field"`
	Message string `json:"message"`
}

// String writes file:line:column: field: message.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	if p.Field != "" {
		b.WriteString(p.Field)
		b.WriteString(": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// Sort orders problems by file, line and column.
func Sort(ps []Problem) {
	sort.SliceStable(ps, func(i, j int) bool {
		a, b := ps[i], ps[j]
		if a.File != b.File {
			return a.File < b.File
		}
		if a.Line != b.Line {
			return a.Line < b.Line
		}
		return a.Column < b.Column
	})
}

// Document is a parsed file. It tells where a field stands, for checks that
// come after decoding.
type Document struct {
	file string
	root ast.Node
}

// Decode fills v, a pointer to a struct, from one YAML document. Values that v
// already holds are kept where the document is silent, so defaults go in
// first. With problems v is left as it was.
func Decode(file string, data []byte, v any) (*Document, []Problem) {
	doc := &Document{file: file}
	parsed, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return doc, []Problem{doc.problem(err, nil, "")}
	}
	for i, d := range parsed.Docs {
		if i > 0 && d.Body != nil {
			return doc, []Problem{doc.at(d.Body, "", "a second document starts here; one file holds one document")}
		}
		if i == 0 {
			doc.root = d.Body
		}
	}
	if doc.root == nil {
		return doc, nil
	}
	c := checker{doc: doc}
	c.check(doc.root, reflect.TypeOf(v).Elem(), "")
	if len(c.problems) > 0 {
		Sort(c.problems)
		return doc, c.problems
	}
	if err := yaml.NodeToValue(doc.root, v, yaml.Strict()); err != nil {
		return doc, []Problem{doc.problem(err, doc.root, "")}
	}
	return doc, nil
}

// At makes a problem at a field given as $.steps[2].when, or at the nearest
// parent that the file has.
func (d *Document) At(field, message string) Problem {
	path := field
	for d.root != nil {
		if n := d.find(path); n != nil {
			return d.at(n, strings.TrimPrefix(field, "$."), message)
		}
		cut := strings.LastIndexAny(path, ".[")
		if cut <= 0 {
			break
		}
		path = path[:cut]
	}
	return Problem{File: d.file, Field: strings.TrimPrefix(field, "$."), Message: message}
}

func (d *Document) find(path string) ast.Node {
	if path == "$" {
		return d.root
	}
	p, err := yaml.PathString(path)
	if err != nil {
		return nil
	}
	n, err := p.FilterNode(d.root)
	if err != nil {
		return nil
	}
	return n
}

func (d *Document) at(n ast.Node, field, message string) Problem {
	p := Problem{File: d.file, Field: field, Message: message}
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 {
		n = m.Values[0].Key
	}
	if m, ok := n.(*ast.MappingValueNode); ok {
		n = m.Key
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		p.Line, p.Column = t.Position.Line, t.Position.Column
	}
	return p
}

// problem turns a library error into a Problem; n is where to point when the
// error has no place of its own.
func (d *Document) problem(err error, n ast.Node, field string) Problem {
	p := Problem{File: d.file, Field: field, Message: plain(err)}
	if n != nil {
		p = d.at(n, field, p.Message)
	}
	var y yaml.Error
	if errors.As(err, &y) && y.GetToken() != nil && n == nil {
		p.Line, p.Column = y.GetToken().Position.Line, y.GetToken().Position.Column
	}
	return p
}

// plain words a decoding error for a person who writes YAML, not Go.
func plain(err error) string {
	var t *yaml.TypeError
	if errors.As(err, &t) {
		return "wants " + kindWords(t.DstType)
	}
	var o *yaml.OverflowError
	if errors.As(err, &o) {
		return "the number is out of range"
	}
	var y yaml.Error
	if errors.As(err, &y) {
		return y.GetMessage()
	}
	return err.Error()
}

func kindWords(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if t.String() == "time.Duration" {
			return "a duration such as 30s or 5m"
		}
		return "a whole number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number that is not negative"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "a block of keys"
	default:
		return "another type of value"
	}
}
