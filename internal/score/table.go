package score

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// Table is rows of words under a head; the first column is text, the others
// are figures unless Words is set.
type Table struct {
	Words bool
	Head  []string
	Rows  [][]string
}

// Markdown writes it for a page.
func (t Table) Markdown() string {
	var b strings.Builder
	row := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	row(t.Head)
	column := "|---:"
	if t.Words {
		column = "|---"
	}
	b.WriteString("|---" + strings.Repeat(column, len(t.Head)-1) + "|\n")
	for _, r := range t.Rows {
		row(r)
	}
	return b.String()
}

// Plain writes it for a terminal.
func (t Table) Plain() string {
	width := make([]int, len(t.Head))
	for _, r := range append([][]string{t.Head}, t.Rows...) {
		for i, c := range r {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	var b strings.Builder
	for _, r := range append([][]string{t.Head}, t.Rows...) {
		line := ""
		for i, c := range r {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			if i == 0 {
				line += c + pad
			} else {
				line += "  " + pad + c
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

func percent(v float64) string  { return fmt.Sprintf("%.1f %%", 100*v) }
func fraction(v float64) string { return fmt.Sprintf("%.3f", v) }
func number0(n int) string      { return fmt.Sprint(n) }

// Sets is the table of figures by set of cases.
func (r Report) Sets() Table {
	t := figuresTable("cases")
	t.add("full telemetry, all", r.Figures)
	t.add("– recorded", r.Subsets["recorded"])
	t.add("– synthetic", r.Subsets["synthetic"])
	t.add("– rules were tuned on them", r.Subsets["tuned"])
	t.add("– held out", r.Subsets["held_out"])
	t.add("– recorded and held out", r.Subsets["recorded_held_out"])
	t.add("deciding source missing", r.Partial)
	return t
}

// SoaksTable is the table of figures by soak and version.
func (r Report) SoaksTable() Table {
	t := figuresTable("soak and version")
	for _, name := range slices.Sorted(maps.Keys(r.Soaks)) {
		t.add(name, r.Soaks[name])
	}
	return t
}

func figuresTable(first string) Table {
	return Table{Head: []string{first, "number", "macro-F1", "right", "of these by a named alternative", "for that moment", "grounded", "undecided", "wrong and confirmed"}}
}

func (t *Table) add(name string, f Figures) {
	if f.Scored == 0 {
		t.Rows = append(t.Rows, []string{name, "0", "–", "–", "–", "–", "–", "–", "–"})
		return
	}
	t.Rows = append(t.Rows, []string{
		name, number0(f.Scored), fraction(f.MacroF1), percent(f.Accuracy), number0(f.ByAlternative), number0(f.ByMoment),
		percent(f.GroundedAccuracy), number0(f.Undecided), percent(f.WrongConfirmedShare),
	})
}

// Classes is the table of figures by class.
func (r Report) Classes() Table { return classTable(r.PerClass) }

// Unseen is the same over the recorded cases that were held out.
func (r Report) Unseen() Table { return classTable(r.PerClassUnseen) }

func classTable(figures map[diagnose.Class]ClassFigures) Table {
	t := Table{Head: []string{"class", "cases", "recorded", "held out", "recall", "precision", "F1"}}
	for _, c := range classesOf(figures) {
		f := figures[c]
		name := string(c)
		if !f.Judged {
			name += " (no rule yet)"
		}
		row := []string{name, number0(f.Runs), number0(f.Recorded), number0(f.HeldOut), fraction(f.Recall), fraction(f.Precision), fraction(f.F1)}
		if f.Runs == 0 {
			row[4], row[6] = "–", "–"
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// LabRunsTable is the table of the lab's runs by class and version.
func (r Report) LabRunsTable() Table {
	var versions []string
	for _, byVersion := range r.LabRuns {
		for v := range byVersion {
			if !slices.Contains(versions, v) {
				versions = append(versions, v)
			}
		}
	}
	slices.Sort(versions)
	t := Table{Head: append([]string{"class"}, versions...)}
	for _, c := range classesOf(r.LabRuns) {
		row := []string{string(c)}
		for _, v := range versions {
			row = append(row, cell(r.LabRuns[c][v]))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// ConfusionTable counts truth by row and verdict by column. Columns are
// numbered as the rows are.
func (r Report) ConfusionTable() Table {
	columns := classesOf(r.PerClass)
	t := Table{Head: []string{"truth \\ found"}}
	for i := range columns {
		t.Head = append(t.Head, number0(i+1))
	}
	for i, truth := range columns {
		row := []string{fmt.Sprintf("%d %s", i+1, truth)}
		for _, found := range columns {
			row = append(row, cell(r.Confusion[truth][found]))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func cell(n int) string {
	if n == 0 {
		return "·"
	}
	return number0(n)
}

// DegradedTable is the degradation matrix.
func (r Report) DegradedTable() Table {
	t := Table{Head: []string{"without", "cases", "right", "right by a named alternative", "right for that moment", "undecided", "of these truth named", "another, truth named", "another, truth not named", "wrong and confirmed"}}
	for _, d := range r.Degradations {
		t.Rows = append(t.Rows, []string{
			d.Name, number0(d.Runs), number0(d.Right), number0(d.ByAlternative), number0(d.ByMoment), number0(d.Undecided), number0(d.UndecidedNamed),
			number0(d.WrongNamed), number0(d.WrongOther), number0(d.WrongConfirmed),
		})
	}
	return t
}

// BaselineTable sets the rules beside the baselines.
func (r Report) BaselineTable() Table {
	t := Table{Head: []string{"judged by", "macro-F1", "right", "wrong without a doubt", "right, of the classes it knows", "recorded: macro-F1", "recorded: right"}}
	recorded := r.Subsets["recorded"]
	t.Rows = append(t.Rows, []string{
		"kafka-oncall", fraction(r.MacroF1), percent(r.Accuracy), percent(r.WrongConfirmedShare), percent(r.Accuracy), fraction(recorded.MacroF1), percent(recorded.Accuracy),
	})
	for _, b := range r.Baselines {
		t.Rows = append(t.Rows, []string{
			b.Name, fraction(b.MacroF1), percent(b.Accuracy), percent(b.Wrong), percent(b.Known), fraction(b.Recorded.MacroF1), percent(b.Recorded.Accuracy),
		})
	}
	return t
}

// PairsTable lists the pairs that cannot be told apart.
func PairsTable() Table {
	t := Table{Words: true, Head: []string{"class", "looks like", "down to", "source"}}
	for _, p := range Pairs() {
		until := p.UpTo.Words()
		if p.Protocol != "" {
			until += ", protocol " + p.Protocol
		}
		switch {
		case p.When == NoDemand:
			until = "any source but the demand"
		case p.When == NoPods:
			until = "any source but the pods"
		case p.When != Always:
			until += ", " + p.When.Words()
		}
		t.Rows = append(t.Rows, []string{string(p.A), string(p.B), until, p.Source})
	}
	return t
}
