package playbooks

import (
	"slices"

	"github.com/expr-lang/expr/ast"
)

// guard follows which optional facts are known to be there, the way a reader
// of `has(lag) && lag > 100` does.
type guard struct {
	optional map[string]bool
	// used collects every fact named, unguarded those without has().
	used, unguarded []string
}

// walk visits a node under what is known. It returns what is also known when
// the node is true.
func (g *guard) walk(n ast.Node, known []string) []string {
	if c, ok := hasCall(n); ok {
		return []string{c.Arguments[0].(*ast.IdentifierNode).Value}
	}
	switch x := n.(type) {
	case *ast.IdentifierNode:
		g.use(x.Value, known)
	case *ast.BinaryNode:
		return g.binary(x, known)
	case *ast.UnaryNode:
		g.walk(x.Node, known)
	case *ast.ConditionalNode:
		yes := g.walk(x.Cond, known)
		g.walk(x.Exp1, join(known, yes))
		g.walk(x.Exp2, known)
	case *ast.CallNode:
		for _, a := range x.Arguments {
			g.walk(a, known)
		}
	case *ast.BuiltinNode:
		for _, a := range x.Arguments {
			g.walk(a, known)
		}
	case *ast.ArrayNode:
		for _, a := range x.Nodes {
			g.walk(a, known)
		}
	}
	return nil
}

func (g *guard) binary(x *ast.BinaryNode, known []string) []string {
	left := g.walk(x.Left, known)
	switch x.Operator {
	case "&&", "and":
		right := g.walk(x.Right, join(known, left))
		return join(left, right)
	case "||", "or":
		right := g.walk(x.Right, known)
		var both []string
		for _, f := range left {
			if slices.Contains(right, f) {
				both = append(both, f)
			}
		}
		return both
	default:
		g.walk(x.Right, known)
		return nil
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
