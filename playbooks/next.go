package playbooks

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// Next returns the first step of the primary finding's playbook that applies
// and whose id is not in done. ok is false when there is none: no playbook, or
// everything is done.
func (s *Set) Next(d diagnose.Diagnosis, done []string) (*Step, bool) {
	for _, st := range s.Steps(d) {
		if !slices.Contains(done, st.ID) {
			return &st, true
		}
	}
	return nil, false
}

// Steps returns the steps that apply to the primary finding, in order, with
// their values filled in.
func (s *Set) Steps(d diagnose.Diagnosis) []Step {
	if a := d.Primary().Advice; a != nil {
		return []Step{adviceStep(d.Primary().Class, *a)}
	}
	b, ok := s.books[d.Primary().Class]
	if !ok {
		return nil
	}
	v := factsOf(d)
	env, lib := v.env(), libraryOf(v)
	var out []Step
	for _, st := range b.steps {
		st = st.in(lib, v.kip848())
		applies, err := truth(st.when, env)
		if err == nil && !applies {
			continue
		}
		x := Step{Playbook: b.Class, ID: st.def.ID, Safety: st.safety}
		if err == nil {
			err = st.fill(&x, v)
		}
		if err != nil {
			x = st.unfilled(x, err)
		}
		out = append(out, x)
	}
	for i := range out {
		out[i].View.Number, out[i].View.Of = i+1, len(out)
	}
	return out
}

// Fill returns v with the step to show next, all steps and the impact set from
// its diagnosis. done are the ids of the steps already done. Without a
// diagnosis v comes back with none.
func (s *Set) Fill(v View, done []string) View {
	v.Step, v.Steps, v.Impact = nil, nil, ""
	if v.Diagnosis == nil {
		return v
	}
	v.Steps = s.Steps(*v.Diagnosis)
	v.Step, _ = s.Next(*v.Diagnosis, done)
	if b, ok := s.books[v.Diagnosis.Primary().Class]; ok {
		v.Impact = b.Impact
	}
	return v
}

// fill works the computed values out and puts all values in.
func (st step) fill(x *Step, facts values) error {
	v := values{}
	for k, f := range facts {
		v[k] = f
	}
	var arithmetic Rich
	for _, c := range st.compute {
		show, err := c.work(v)
		if err != nil {
			return fmt.Errorf("%s: %w", c.def.Name, err)
		}
		arithmetic = append(arithmetic, between(arithmetic, show)...)
		arithmetic = append(arithmetic, show...)
	}
	x.View.Safety, x.View.Arithmetic = st.safety, arithmetic
	return st.fillTexts(x, v)
}

// work puts the value into v and words its arithmetic; without its condition
// there is no value, and the words say what is missing.
func (c computed) work(v values) (Rich, error) {
	env := v.env()
	if there, err := truth(c.when, env); err != nil || !there {
		if err != nil {
			return nil, err
		}
		return c.otherwise.fill(v)
	}
	n, err := numeric(c.program, env)
	if err != nil {
		return nil, err
	}
	v[c.def.Name] = value{unit: unit(c.def.Unit), number: c.round.apply(n), exact: n}
	return c.show.fill(v)
}

// between joins two pieces of arithmetic: a piece that starts with an arrow
// goes on with the one before.
func between(before, next Rich) Rich {
	switch {
	case len(before) == 0 || len(next) == 0:
		return nil
	case strings.HasPrefix(next[0].Text, "→"):
		return Rich{{Text: " "}}
	default:
		return Rich{{Text: "; "}}
	}
}

func (st step) fillTexts(x *Step, v values) error {
	title, err := st.title.fill(v)
	if err != nil {
		return err
	}
	x.Title, x.View.Title = title.String(), title.String()
	if x.View.Text, err = st.text.fill(v); err != nil {
		return err
	}
	x.Text = x.View.Text.String()
	if x.View.Command, err = st.command.fillCommand(v); err != nil {
		return err
	}
	if x.View.Avoid, err = st.fillAvoid(v); err != nil {
		return err
	}
	x.View.Verify, err = st.fillVerify(v)
	return err
}

// fillVerify words a check as "what to read: what it shows. Give it 5 min.".
func (st step) fillVerify(v values) (Rich, error) {
	if st.def.Verify == nil {
		return nil, nil
	}
	read, err := st.read.fill(v)
	if err != nil {
		return nil, err
	}
	shows, err := st.shows.fill(v)
	if err != nil {
		return nil, err
	}
	if n := len(read); n > 0 {
		read[n-1].Text = strings.TrimSuffix(strings.TrimSpace(read[n-1].Text), ".")
	}
	if len(shows) > 0 {
		shows[0].Text = lowerFirst(shows[0].Text)
	}
	r := append(append(read, Span{Text: ": "}), shows...)
	if wait := st.def.Verify.Wait; wait > 0 {
		r = append(r, Span{Text: " Give it " + seconds(wait.Seconds()) + "."})
	}
	return r, nil
}

// fillAvoid puts the reason behind what not to do. A reason that rests on what
// happened holds as long as the cause does: while others are open, it says so.
func (st step) fillAvoid(v values) (Rich, error) {
	first, err := st.avoid.fill(v)
	if err != nil || len(first) == 0 {
		return first, err
	}
	second, err := st.why.fill(v)
	if err != nil || len(second) == 0 {
		return first, err
	}
	between := " "
	_, open := v["alternatives"]
	if open && v["confidence"].text != string(diagnose.Open) && happened.MatchString(second.String()) {
		between = " If it is this cause: "
		second[0].Text = lowerFirst(second[0].Text)
	}
	return append(append(first, Span{Text: between}), second...), nil
}

// happened finds a reason that says what happened: playbooks tell it in the past
// tense, and general reasons in the present.
var happened = regexp.MustCompile(`\b(was|were|had|did|ran)\b`)

// unfilled shows that a step exists and why it cannot be worded. Lint makes
// sure that it does not happen with rules that keep what they declare.
func (st step) unfilled(x Step, err error) Step {
	x.Title = strings.TrimSpace(plainTitle(st.title))
	x.Text = fmt.Sprintf("This step cannot be filled in from this evidence: %v. `kafka-oncall playbooks show %s` has its words.", err, x.Playbook)
	x.View = StepView{Title: x.Title, Safety: st.safety, Text: Rich{
		{Text: fmt.Sprintf("This step cannot be filled in from this evidence: %v. ", err)},
		{Text: "kafka-oncall playbooks show " + string(x.Playbook), Style: Code},
		{Text: " has its words."},
	}}
	return x
}

// plainTitle writes a title with its placeholders as words.
func plainTitle(t template) string {
	var b strings.Builder
	for _, s := range t {
		if s.name != "" {
			b.WriteString("…")
			continue
		}
		b.WriteString(s.text)
	}
	return b.String()
}

// Worked evaluates the verify condition of a step over a diagnosis made after
// it was done. The error says why it cannot be told.
func (s *Set) Worked(c diagnose.Class, id string, fresh diagnose.Diagnosis) (bool, error) {
	b, ok := s.books[c]
	if !ok {
		return false, fmt.Errorf("no playbook for %s", c)
	}
	i := slices.IndexFunc(b.steps, func(st step) bool { return st.def.ID == id })
	if i < 0 {
		return false, fmt.Errorf("the playbook of %s has no step %q", c, id)
	}
	if b.steps[i].verify == nil {
		return false, fmt.Errorf("the step %q of %s has no condition", id, c)
	}
	return truth(b.steps[i].verify, freshEnv(c, fresh))
}

// freshEnv is the environment of verify conditions: the facts of the fresh
// finding of the same class if it still holds, and what holds and what not.
func freshEnv(c diagnose.Class, fresh diagnose.Diagnosis) map[string]any {
	same := fresh
	same.Findings = slices.DeleteFunc(slices.Clone(fresh.Findings), func(f diagnose.Finding) bool { return f.Class != c })
	env := factsOf(same).env()
	env["holds"] = func(class string) bool {
		return slices.ContainsFunc(fresh.Findings, func(f diagnose.Finding) bool { return string(f.Class) == class })
	}
	env["ruled_out"] = func(class string) bool {
		return slices.ContainsFunc(fresh.RuledOut, func(r diagnose.RuledOut) bool { return string(r.Class) == class })
	}
	env["can_tell"] = func(class string) bool {
		for _, b := range fresh.BlindSpots {
			if slices.Contains(b.LeavesOpen, diagnose.Class(class)) {
				return false
			}
		}
		return true
	}
	return env
}
