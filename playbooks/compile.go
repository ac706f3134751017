package playbooks

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// hasPatch lets has(x) name a fact without quotes.
type hasPatch struct{}

// Visit turns the argument of has() into the fact's name.
func (hasPatch) Visit(n *ast.Node) {
	if c, ok := hasCall(*n); ok {
		ast.Patch(&c.Arguments[0], &ast.StringNode{Value: c.Arguments[0].(*ast.IdentifierNode).Value})
	}
}

func hasCall(n ast.Node) (*ast.CallNode, bool) {
	c, ok := n.(*ast.CallNode)
	if !ok || len(c.Arguments) != 1 {
		return nil, false
	}
	if callee, ok := c.Callee.(*ast.IdentifierNode); !ok || callee.Value != "has" {
		return nil, false
	}
	_, ok = c.Arguments[0].(*ast.IdentifierNode)
	return c, ok
}

// program compiles an expression for running. Names are checked by Lint, which
// knows the rules' facts.
func program(src string, opts ...expr.Option) (*vm.Program, error) {
	if strings.TrimSpace(src) == "" {
		return nil, nil
	}
	opts = append([]expr.Option{expr.AllowUndefinedVariables(), expr.Patch(hasPatch{}), expr.MaxNodes(200)}, opts...)
	p, err := expr.Compile(src, opts...)
	if err != nil {
		return nil, fmt.Errorf("the expression does not compile: %s", firstLine(err))
	}
	return p, nil
}

func firstLine(err error) string {
	s, _, _ := strings.Cut(err.Error(), "\n")
	return s
}

// truth runs a condition; nil means always.
func truth(p *vm.Program, env map[string]any) (bool, error) {
	if p == nil {
		return true, nil
	}
	out, err := expr.Run(p, env)
	if err != nil {
		return false, fmt.Errorf("the condition cannot be worked out: %s", firstLine(err))
	}
	b, ok := out.(bool)
	if !ok {
		return false, fmt.Errorf("the condition gives %T, not true or false", out)
	}
	return b, nil
}

func numeric(p *vm.Program, env map[string]any) (float64, error) {
	out, err := expr.Run(p, env)
	if err != nil {
		return 0, fmt.Errorf("the value cannot be worked out: %s", firstLine(err))
	}
	var n float64
	switch x := out.(type) {
	case float64:
		n = x
	case int:
		n = float64(x)
	default:
		return 0, fmt.Errorf("the value is %T, not a number", out)
	}
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, fmt.Errorf("the value is not a finite number")
	}
	return n, nil
}

// rounding is a direction and a multiple; the zero value does not round.
type rounding struct {
	direction string
	multiple  float64
}

func parseRounding(s string) (rounding, error) {
	if s == "" {
		return rounding{}, nil
	}
	dir, mult, ok := strings.Cut(s, " ")
	m := 1.0
	if ok {
		var err error
		if m, err = strconv.ParseFloat(mult, 64); err != nil || m <= 0 {
			return rounding{}, fmt.Errorf("round wants a multiple above 0, for example %q", "up 8")
		}
	}
	switch dir {
	case "up", "down", "nearest":
		return rounding{direction: dir, multiple: m}, nil
	}
	return rounding{}, fmt.Errorf("round wants up, down or nearest, and a multiple, for example %q", "up 8")
}

func (r rounding) apply(n float64) float64 {
	q := n / r.multiple
	switch r.direction {
	case "up":
		return math.Ceil(q-1e-9)*r.multiple + 0 // never −0
	case "down":
		return math.Floor(q+1e-9) * r.multiple
	case "nearest":
		return math.Round(q) * r.multiple
	default:
		return n
	}
}

// compileStep makes a step ready; report takes each mistake with its field
// below the step, for example ".when".
func compileStep(d *StepDef, report func(field string, err error)) step {
	s := step{def: d, safety: d.Safety}
	var err error
	try := func(field string) {
		if err != nil {
			report(field, err)
		}
		err = nil
	}
	text := func(field, src string) template {
		t, perr := parseTemplate(src)
		err = perr
		try(field)
		return t
	}
	s.when, err = program(d.When, expr.AsBool())
	try(".when")
	s.title, s.text, s.command = text(".title", d.Title), text(".text", d.Text), text(".command", d.Command)
	if d.Avoid != nil {
		s.avoid, s.why = text(".avoid.text", d.Avoid.Text), text(".avoid.why", d.Avoid.Why)
	}
	if d.Verify != nil {
		s.read, s.shows = text(".verify.read", d.Verify.Read), text(".verify.shows", d.Verify.Shows)
		s.verify, err = program(d.Verify.Condition, expr.AsBool())
		try(".verify.condition")
	}
	for i := range d.Libraries {
		s.variants = append(s.variants, s.compileVariant(&d.Libraries[i], func(f string, e error) {
			report(fmt.Sprintf(".libraries[%d]%s", i, f), e)
		}))
		if len(d.Libraries[i].For) == 0 {
			report(fmt.Sprintf(".libraries[%d].for", i), fmt.Errorf("name the libraries that these texts are for"))
		}
		if d.Libraries[i].Safety != "" {
			report(fmt.Sprintf(".libraries[%d].safety", i), fmt.Errorf("is that of the step, whatever the library"))
		}
	}
	if d.KIP848 != nil {
		v := s.compileVariant(d.KIP848, func(f string, e error) { report(".kip848"+f, e) })
		if len(d.KIP848.For) > 0 {
			report(".kip848.for", fmt.Errorf("these texts are for every library"))
		}
		s.kip848 = &v
	}
	for i := range d.Compute {
		s.compute = append(s.compute, compileCompute(&d.Compute[i], func(f string, e error) {
			report(fmt.Sprintf(".compute[%d]%s", i, f), e)
		}))
	}
	return s
}

// compileVariant makes the texts for some libraries, or for KIP-848, ready; what they leave out is the
// step's own.
func (st step) compileVariant(d *Variant, report func(string, error)) variant {
	v := variant{def: d, title: st.title, text: st.text, avoid: st.avoid, why: st.why}
	text := func(field, src string, into *template) {
		t, err := parseTemplate(src)
		if err != nil {
			report(field, err)
		}
		if src != "" {
			*into = t
		}
	}
	text(".title", d.Title, &v.title)
	text(".text", d.Text, &v.text)
	text(".command", d.Command, &v.command)
	if d.Avoid != nil {
		text(".avoid.text", d.Avoid.Text, &v.avoid)
		text(".avoid.why", d.Avoid.Why, &v.why)
	}
	for _, lib := range d.For {
		if st.variant(lib) != nil {
			report(".for", fmt.Errorf("%s has its texts already", lib))
		}
		if !slices.Contains(diagnose.Libraries(), lib) {
			report(".for", fmt.Errorf("%q is not a library that is known here", lib))
		}
	}
	return v
}

// variant is the texts for a library, nil when it has none of its own.
func (st step) variant(lib diagnose.Library) *variant {
	i := slices.IndexFunc(st.variants, func(v variant) bool { return slices.Contains(v.def.For, lib) })
	if i < 0 {
		return nil
	}
	return &st.variants[i]
}

func compileCompute(d *Compute, report func(string, error)) computed {
	c := computed{def: d}
	var err error
	if c.program, err = program(d.Expr); err != nil {
		report(".expr", err)
	} else if c.program == nil {
		report(".expr", fmt.Errorf("a computed value needs an expression"))
	}
	if c.round, err = parseRounding(d.Round); err != nil {
		report(".round", err)
	}
	if c.when, err = program(d.When, expr.AsBool()); err != nil {
		report(".when", err)
	}
	if c.show, err = parseTemplate(d.Show); err != nil {
		report(".show", err)
	}
	if c.otherwise, err = parseTemplate(d.Otherwise); err != nil {
		report(".otherwise", err)
	}
	return c
}
