package playbooks

import (
	"slices"

	"github.com/expr-lang/expr/ast"
)

// guard follows which optional facts are known to be there, the way a reader
// of `has(lag) and lag > 100` does.
type guard struct {
	optional map[string]bool
	// used collects every fact named, unguarded those without has().
	used, unguarded []string
}

// walk visits a node under what is known. It returns what is also known when
// the node is true, and when it is false.
func (g *guard) walk(n ast.Node, known []string) (yes, no []string) {
	if c, ok := hasCall(n); ok {
		return []string{c.Arguments[0].(*ast.IdentifierNode).Value}, nil
	}
	switch x := n.(type) {
	case *ast.IdentifierNode:
		g.use(x.Value, known)
	case *ast.BinaryNode:
		return g.binary(x, known)
	case *ast.UnaryNode:
		yes, no = g.walk(x.Node, known)
		if x.Operator == "!" || x.Operator == "not" {
			return no, yes
		}
		return nil, nil
	case *ast.ConditionalNode:
		yes, no = g.walk(x.Cond, known)
		g.walk(x.Exp1, join(known, yes))
		g.walk(x.Exp2, join(known, no))
	case *ast.CallNode:
		g.all(x.Arguments, known)
	case *ast.BuiltinNode:
		g.all(x.Arguments, known)
	case *ast.ArrayNode:
		g.all(x.Nodes, known)
	}
	return nil, nil
}

func (g *guard) all(nodes []ast.Node, known []string) {
	for _, n := range nodes {
		g.walk(n, known)
	}
}

func (g *guard) binary(x *ast.BinaryNode, known []string) (yes, no []string) {
	leftYes, leftNo := g.walk(x.Left, known)
	switch x.Operator {
	case "&&", "and":
		rightYes, rightNo := g.walk(x.Right, join(known, leftYes))
		return join(leftYes, rightYes), common(leftNo, rightNo)
	case "||", "or":
		rightYes, rightNo := g.walk(x.Right, join(known, leftNo))
		return common(leftYes, rightYes), join(leftNo, rightNo)
	default:
		g.walk(x.Right, known)
		return nil, nil
	}
}

func (g *guard) use(name string, known []string) {
	if !slices.Contains(g.used, name) {
		g.used = append(g.used, name)
	}
	if g.optional[name] && !slices.Contains(known, name) && !slices.Contains(g.unguarded, name) {
		g.unguarded = append(g.unguarded, name)
	}
}

func join(a, b []string) []string {
	return append(slices.Clone(a), b...)
}

// common is what both lists hold.
func common(a, b []string) []string {
	var out []string
	for _, f := range a {
		if slices.Contains(b, f) {
			out = append(out, f)
		}
	}
	return out
}
