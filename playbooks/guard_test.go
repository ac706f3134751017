package playbooks

import (
	"strings"
	"testing"

	"github.com/expr-lang/expr/parser"
)

func TestGuardsFollowTheLogic(t *testing.T) {
	for src, want := range map[string]string{
		"a > 1":                                    "a",
		"has(a) and a > 1":                         "",
		"a > 1 and has(a)":                         "a",
		"has(a) or a > 1":                          "a",
		"not has(a) or a > 1":                      "",
		"!has(a) || a > 1":                         "",
		"not (not has(a)) and a > 1":               "",
		"(has(a) and has(b)) and a > b":            "",
		"(has(a) or has(b)) and a > 1":             "a",
		"(has(a) or has(a)) and a > 1":             "",
		"has(a) ? a > 1 : b > 1":                   "b",
		"not has(a) ? true : a > 1":                "",
		"not (has(a) and b > 1) or a > 1":          "b",
		"has(a) and max(a, b) > 1":                 "b",
		"has(a) and a in [b, 1]":                   "b",
		"has(a) == true and a > 1":                 "a",
		"sure > 1 and has(a) and a + sure > 1":     "",
		"has(a) and (a > 1 or has(b) and b > 1)":   "",
		"(has(a) and a > 1) or (has(b) and a > b)": "a",
	} {
		tree, err := parser.Parse(src)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		g := guard{optional: map[string]bool{"a": true, "b": true}}
		g.walk(tree.Node, nil)
		if got := strings.Join(g.unguarded, " "); got != want {
			t.Errorf("%s: unguarded %q, want %q", src, got, want)
		}
	}
}
