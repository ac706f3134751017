package playbooks

import (
	"fmt"
	"slices"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/internal/sizing"
)

// lintFacts checks every name a step uses: it exists, has the right type, and
// is guarded when it may be missing.
func (l *linter) lintFacts(at string, st step) {
	env, optional := l.typedEnv()
	known := l.expression(at+".when", st.def.When, check{env: env, optional: optional, boolean: true})
	for i, c := range st.compute {
		field := fmt.Sprintf("%s.compute[%d]", at, i)
		if !isName(c.def.Name) {
			l.add(field+".name", "a name is small letters, digits and _")
		}
		if _, taken := env[c.def.Name]; taken {
			l.add(field+".name", "the name %s is taken by a fact or an earlier value", c.def.Name)
		}
		there := join(known, l.expression(field+".when", c.def.When, check{env: env, optional: optional, known: known, boolean: true}))
		l.expression(field+".expr", c.def.Expr, check{env: env, optional: optional, known: there})
		l.unit(field, c.def)
		if c.def.When == "" && c.def.Otherwise != "" {
			l.add(field+".otherwise", "is never shown: say in when what it depends on")
		}
		env[c.def.Name] = float64(0)
		names := check{env: env, optional: optional, known: append(there, c.def.Name)}
		l.names(field+".show", c.show, names)
		optional[c.def.Name] = c.def.When != ""
		names.known = known
		l.names(field+".otherwise", c.otherwise, names)
	}
	l.arithmetic(at, st)
	for _, x := range st.texts() {
		l.names(at+x.field, x.template, check{env: env, optional: optional, known: known})
	}
	// A variant is shown only where the library is known.
	there := append(slices.Clone(known), "library", "library_by")
	for i, v := range st.variants {
		for _, x := range v.texts() {
			l.names(fmt.Sprintf("%s.libraries[%d]%s", at, i, x.field), x.template, check{env: env, optional: optional, known: there})
		}
	}
	if st.kip848 != nil {
		for _, x := range st.kip848.texts() {
			l.names(at+".kip848"+x.field, x.template, check{env: env, optional: optional, known: append(slices.Clone(known), "protocol")})
		}
	}
	if v := st.def.Verify; v != nil {
		l.verifyCondition(at, v)
	}
}

// names checks the facts that a text names.
func (l *linter) names(at string, t template, c check) {
	for _, name := range t.names() {
		if _, ok := c.env[name]; !ok {
			l.add(at, "the class %s has no fact %s", l.book.Class, name)
		} else if c.optional[name] && !slices.Contains(c.known, name) {
			l.add(at, "the fact %s may be missing: say has(%s) in when", name, name)
		}
	}
}

// field is a text of a step with its place.
type field struct {
	field    string
	template template
}

func (st step) texts() []field {
	return []field{
		{".title", st.title}, {".text", st.text}, {".command", st.command},
		{".avoid.text", st.avoid}, {".avoid.why", st.why}, {".verify.read", st.read}, {".verify.shows", st.shows},
	}
}

// allVariants are those for libraries, and that for KIP-848 groups.
func (st step) allVariants() []variant {
	if st.kip848 == nil {
		return st.variants
	}
	return append(slices.Clone(st.variants), *st.kip848)
}

func (v variant) texts() []field {
	return []field{{".title", v.title}, {".text", v.text}, {".command", v.command}, {".avoid.text", v.avoid}, {".avoid.why", v.why}}
}

// verifyCondition checks a condition over a fresh diagnosis, where the finding
// and with it every fact may be gone.
func (l *linter) verifyCondition(at string, v *Check) {
	env, optional := l.typedEnv()
	for name := range optional {
		optional[name] = true
	}
	for name := range l.facts {
		optional[name] = true
	}
	for _, f := range []string{"holds", "ruled_out", "can_tell"} {
		env[f] = func(string) bool { return true }
	}
	l.expression(at+".verify.condition", v.Condition, check{env: env, optional: optional, boolean: true})
	for _, class := range classArguments(v.Condition) {
		if _, ok := diagnose.Lookup(diagnose.Class(class)); !ok {
			l.add(at+".verify.condition", "%q is not a class", class)
		}
	}
}

func (l *linter) typedEnv() (env map[string]any, optional map[string]bool) {
	env = sizing.Functions()
	env["has"] = func(string) bool { return true }
	optional = map[string]bool{}
	for name, f := range l.facts {
		optional[name] = f.Optional
		if unit(f.Unit).isText() {
			env[name] = ""
		} else {
			env[name] = float64(0)
		}
	}
	return env, optional
}

// check is what an expression is held against.
type check struct {
	env      map[string]any
	optional map[string]bool
	known    []string
	boolean  bool
}

// expression compiles with types and follows the guards. It returns the facts
// that are there when the expression is true.
func (l *linter) expression(field, src string, c check) []string {
	if src == "" {
		return nil
	}
	opts := []expr.Option{expr.Env(c.env), expr.Patch(hasPatch{}), expr.MaxNodes(200)}
	if c.boolean {
		opts = append(opts, expr.AsBool())
	} else {
		opts = append(opts, expr.AsFloat64())
	}
	if _, err := expr.Compile(src, opts...); err != nil {
		l.add(field, "%s", firstLine(err))
		return nil
	}
	tree, err := parser.Parse(src)
	if err != nil {
		return nil // reported by Compile
	}
	g := guard{optional: c.optional}
	known, _ := g.walk(tree.Node, c.known)
	for _, name := range g.unguarded {
		l.add(field, "the fact %s may be missing: write has(%s) && … before it", name, name)
	}
	for _, name := range known {
		if _, ok := c.env[name]; !ok {
			l.add(field, "the class %s has no fact %s", l.book.Class, name)
		}
	}
	return known
}

func (l *linter) unit(field string, c *Compute) {
	known := []diagnose.Unit{diagnose.UnitNone, diagnose.UnitCount, diagnose.UnitSeconds, diagnose.UnitMillis, diagnose.UnitBytes, diagnose.UnitPercent}
	if !slices.Contains(known, c.Unit) {
		l.add(field+".unit", "%q is not a unit: count, s, ms, bytes or percent", c.Unit)
	}
}

// arithmetic checks that a value a person is to use is shown with everything
// it was made from.
func (l *linter) arithmetic(at string, st step) {
	var shown, used []string
	conditional := map[string]bool{}
	for _, c := range st.compute {
		shown = append(append(shown, c.show.names()...), c.otherwise.names()...)
		conditional[c.def.Name] = c.def.When != ""
	}
	for _, t := range []template{st.title, st.text, st.command} {
		used = append(used, t.names()...)
	}
	for _, v := range st.allVariants() {
		for _, t := range []template{v.title, v.text, v.command} {
			used = append(used, t.names()...)
		}
	}
	for i, c := range st.compute {
		if !slices.Contains(used, c.def.Name) && !slices.Contains(shown, c.def.Name) {
			l.add(fmt.Sprintf("%s.compute[%d].name", at, i), "the value %s is not used", c.def.Name)
			continue
		}
		if !slices.Contains(shown, c.def.Name) {
			l.add(fmt.Sprintf("%s.compute[%d].name", at, i), "the value %s is advised without its arithmetic: add show", c.def.Name)
		}
		for _, name := range identifiers(c.def.Expr) {
			// A value with a fallback shows as the value that was made from it.
			if !l.facts[name].Optional && !conditional[name] && !slices.Contains(shown, name) {
				l.add(fmt.Sprintf("%s.compute[%d].show", at, i), "the arithmetic does not show %s", name)
			}
		}
	}
}

// identifiers lists the facts an expression computes with.
func identifiers(src string) []string {
	tree, err := parser.Parse(src)
	if err != nil {
		return nil
	}
	g := guard{}
	g.walk(tree.Node, nil)
	return g.used
}

// classes collects the texts given to holds() and ruled_out().
type classes struct{ names []string }

// Visit looks at one node.
func (c *classes) Visit(n *ast.Node) {
	call, ok := (*n).(*ast.CallNode)
	if !ok || len(call.Arguments) != 1 {
		return
	}
	if s, ok := call.Arguments[0].(*ast.StringNode); ok {
		c.names = append(c.names, s.Value)
	}
}

func classArguments(src string) []string {
	tree, err := parser.Parse(src)
	if err != nil {
		return nil
	}
	c := &classes{}
	ast.Walk(&tree.Node, c)
	return c.names
}
