package playbooks

import (
	"slices"
	"strings"
	"time"

	"github.com/expr-lang/expr/vm"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/internal/strictyaml"
)

// Problem is one mistake in a playbook, with its place in the file.
type Problem = strictyaml.Problem

// Playbook is what to know and to do about one class, as its file says it.
type Playbook struct {
	Class diagnose.Class `yaml:"class" json:"class"`
	// Meaning is one sentence: what the class is.
	Meaning string `yaml:"meaning" json:"meaning"`
	// Impact is one sentence: what it costs the people who use the cluster.
	Impact string    `yaml:"impact" json:"impact"`
	Steps  []StepDef `yaml:"steps" json:"steps"`
}

// StepDef is a step as its file says it, before values are filled in.
type StepDef struct {
	ID     string `yaml:"id" json:"id"`
	Title  string `yaml:"title" json:"title"`
	Safety Safety `yaml:"safety" json:"safety"`
	// When is a condition over the facts; empty means always.
	When string `yaml:"when" json:"when,omitempty"`
	// Uses names a calculation that several playbooks share, instead of Compute, where
	// loading puts its values.
	Uses    string    `yaml:"uses" json:"uses,omitempty"`
	Compute []Compute `yaml:"compute" json:"compute,omitempty"`
	Text    string    `yaml:"text" json:"text"`
	Command string    `yaml:"command" json:"command,omitempty"`
	Avoid   *Avoid    `yaml:"avoid" json:"avoid,omitempty"`
	Verify  *Check    `yaml:"verify" json:"verify"`
	// Libraries are the texts for clients of a library in which the step goes
	// another way; names of settings alone are said in its words anyway.
	Libraries []Variant `yaml:"libraries" json:"libraries,omitempty"`
	// KIP848 are the texts for a group of that protocol (fact protocol is "consumer"),
	// where the step goes another way there. They stand before those of a library; what
	// they leave out is the library's, but the command.
	KIP848 *Variant `yaml:"kip848" json:"kip848,omitempty"`
}

// Variant is what a step says where the client is known to be of one of the named
// libraries, or its group to be one of KIP-848, which names none. What it leaves out is the step's own, but the command: a variant has its
// own or none.
type Variant struct {
	For     []diagnose.Library `yaml:"for" json:"for,omitempty"`
	Title   string             `yaml:"title" json:"title,omitempty"`
	Text    string             `yaml:"text" json:"text,omitempty"`
	Command string             `yaml:"command" json:"command,omitempty"`
	Avoid   *Avoid             `yaml:"avoid" json:"avoid,omitempty"`
	// Safety is what it touches where that is something else than with the step.
	Safety Safety `yaml:"safety" json:"safety,omitempty"`
}

// Variants are the texts for libraries, then those for KIP-848 groups.
func (s StepDef) Variants() []Variant {
	if s.KIP848 == nil {
		return s.Libraries
	}
	return append(slices.Clone(s.Libraries), *s.KIP848)
}

// Place says for people where a variant holds: with java, kafka-python.
func (v Variant) Place() string {
	if len(v.For) == 0 {
		return "in a KIP-848 group"
	}
	names := make([]string, len(v.For))
	for i, lib := range v.For {
		names[i] = string(lib)
	}
	return "with " + strings.Join(names, ", ")
}

// Words are the texts of the variant in one paragraph, as its file says them.
func (v Variant) Words() string {
	var parts []string
	for _, s := range []string{v.Title, v.Text} {
		if s = strings.TrimSpace(s); s != "" {
			parts = append(parts, strings.TrimSuffix(s, ".")+".")
		}
	}
	if v.Avoid != nil {
		parts = append(parts, "Not: "+v.Avoid.Text+" "+v.Avoid.Why)
	}
	return strings.Join(parts, " ")
}

// Compute is a value worked out from facts and earlier computed values.
type Compute struct {
	Name string        `yaml:"name" json:"name"`
	Expr string        `yaml:"expr" json:"expr"`
	Unit diagnose.Unit `yaml:"unit" json:"unit"`
	// Round is "up 8", "down 10", "nearest 1": direction and multiple.
	Round string `yaml:"round" json:"round,omitempty"`
	// When is a condition over the facts; where it does not hold, there is no such
	// value, has() says so, and Otherwise is shown in its place.
	When      string `yaml:"when" json:"when,omitempty"`
	Otherwise string `yaml:"otherwise" json:"otherwise,omitempty"`
	// Show is the arithmetic as text; {name.exact} is the value before rounding.
	Show string `yaml:"show" json:"show,omitempty"`
}

// Avoid is the popular wrong fix.
type Avoid struct {
	Text string `yaml:"text" json:"text"`
	Why  string `yaml:"why" json:"why"`
}

// Check says how one sees that a step worked. It is shown to people now; the
// condition is what the bot evaluates over a fresh diagnosis (see [Set.Worked]).
type Check struct {
	// Read names what is read again, for example "evictions of this broker".
	Read string `yaml:"read" json:"read"`
	// Shows says in words what that must show.
	Shows string `yaml:"shows" json:"shows"`
	// Condition is expr-lang over the fresh diagnosis: holds("class"),
	// ruled_out("class"), and facts behind has().
	Condition string `yaml:"condition" json:"condition"`
	// Wait is how long after the step it can be seen.
	Wait time.Duration `yaml:"wait" json:"wait"`
}

// book is a playbook made ready to run.
type book struct {
	Playbook
	doc   *strictyaml.Document
	steps []step
}

// step is a step with its expressions compiled and its texts parsed.
type step struct {
	def                                           *StepDef
	safety                                        Safety
	when, verify                                  *vm.Program
	compute                                       []computed
	title, text, command, avoid, why, read, shows template
	variants                                      []variant
	kip848                                        *variant
}

// variant is a Variant with its texts parsed and what it leaves out filled in.
type variant struct {
	def                              *Variant
	title, text, command, avoid, why template
}

// computed is a Compute made ready to run.
type computed struct {
	def             *Compute
	when, program   *vm.Program
	round           rounding
	show, otherwise template
}
