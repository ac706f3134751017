package logs

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// Options bound a reading. The zero value is usable.
type Options struct {
	// Now completes stamps that lack a day.
	Now time.Time
	// From and To leave out lines stamped before or after them, and lines without a
	// stamp; zero for no bound.
	From, To time.Time
	// MaxLine is how much of a line is looked at, 32 KiB by default; the rest of
	// a longer line is skipped.
	MaxLine int
	// MaxFindings bounds the findings, 500 by default; lines beyond are counted
	// as dropped.
	MaxFindings int
	// Group has as many findings of its own, however many groups are named before
	// it; "" for none.
	Group string
}

func (o Options) withDefaults() Options {
	if o.MaxLine <= 0 {
		o.MaxLine = 32 << 10
	}
	if o.MaxFindings <= 0 {
		o.MaxFindings = 500
	}
	return o
}

// Read recognises lines until the end of r. What was found before an error
// comes back with it.
func Read(r io.Reader, o Options) (diagnose.LogText, error) {
	rd := NewReader(o)
	err := rd.Add(r)
	return rd.Text(), err
}

// known is the compiled table, built once: it is a constant in all but name.
var known = sync.OnceValue(compile)

type compiled struct {
	patterns []pattern
	matcher  *matcher
}

func compile() compiled {
	c := compiled{patterns: table()}
	words := make([]string, len(c.patterns))
	for i, p := range c.patterns {
		words[i] = p.word
	}
	c.matcher = newMatcher(words)
	return c
}

// Reader recognises lines of several inputs that belong together.
type Reader struct {
	o     Options
	table compiled
	clock clockOf
	kept  keeper
	lines int64
	bytes int64
	found int64
	// left is what From and To left out.
	left Left
	// ends is where the words of the present text end, kept for its memory.
	ends map[int]int
	// previous is the last finding and last its group, for lines that go on.
	previous diagnose.LogKind
	lastAt   time.Time
	// head is the beginning of the last line that may carry a stamp and was not
	// recognised: a stack trace below it has its time.
	head     [160]byte
	headLen  int
	headLine int64
	openFor  string
	groups   groups
}

// NewReader returns a reader with nothing read.
func NewReader(o Options) *Reader {
	o = o.withDefaults()
	return &Reader{o: o, table: known(), clock: clockOf{now: o.Now}, kept: keeper{most: o.MaxFindings, group: o.Group}, ends: map[int]int{}}
}

// Add reads one input to its end.
func (r *Reader) Add(in io.Reader) error {
	b := bufio.NewReaderSize(decoded(counted{in, &r.bytes}), r.o.MaxLine)
	for {
		line, err := b.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			r.line(line) // the skip below overwrites it
			line = nil
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = b.ReadSlice('\n')
		}
		if len(line) > 0 {
			r.line(line)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read log text, line %d: %w", r.lines+1, err)
		}
	}
}

// Text is what was found so far.
func (r *Reader) Text() diagnose.LogText {
	t := diagnose.LogText{Lines: r.lines, Bytes: r.bytes, Recognised: r.found, Groups: int64(len(r.groups.named))}
	r.kept.into(&t)
	r.groups.only(t.Findings)
	e := diagnose.Evidence{LogText: t}.Sorted()
	return e.LogText
}

// continues finds lines that belong to the record before.
var continues = regexp.MustCompile(`^(?:at |Caused by: |\.\.\. \d+ more|(?:\w+\.)+\w*(?:Exception|Error)\b|File "|Traceback)`)

// openMember is the first half of a two-line record of brod.
var openMember = regexp.MustCompile(`Group member \(([^,)]+),.*\):\s*$`)

func (r *Reader) line(raw []byte) {
	r.lines++
	defer r.remember(raw)
	if bytes.Contains(raw, []byte("groupId=")) {
		r.groups.hear(unwrap(cleaned(raw), 0).text, r.lines)
	}
	if !r.table.matcher.any(raw) {
		if bytes.Contains(raw, []byte("Group member (")) {
			if m := openMember.FindStringSubmatch(cleaned(raw)); m != nil {
				r.openFor = bounded(m[1])
			}
		}
		return
	}
	text := cleaned(raw)
	rec := unwrap(text, 0)
	r.record(rec, text)
	for _, s := range rec.stack {
		r.record(record{text: s, at: rec.at, level: rec.level, head: rec.text}, s)
	}
}

// remember keeps the head of a line that begins with a digit or a bracket, as
// stamps do.
func (r *Reader) remember(raw []byte) {
	if len(raw) > 0 && (raw[0] >= '0' && raw[0] <= '9' || raw[0] == '[') {
		r.headLen, r.headLine = copy(r.head[:], raw), r.lines
	}
}

// before is the moment of the record that a line without a stamp goes on with.
func (r *Reader) before() time.Time {
	if at := r.clock.at(cleaned(r.head[:r.headLen]), len(r.head)); at.After(r.lastAt) {
		return at
	}
	return r.lastAt
}

// record recognises one text and keeps it.
func (r *Reader) record(rec record, shown string) {
	p, end := r.pattern(rec.text)
	if p == nil {
		return
	}
	goesOn := continues.MatchString(stampless(rec.text))
	if goesOn && r.previous == p.kind {
		return // the stack trace of a record that is counted already
	}
	f := diagnose.LogFinding{Kind: p.kind, By: p.by, Count: 1, Line: r.lines, Level: rec.level}
	fill(&f, p, rec.text)
	f.First = r.clock.at(rec.text, end)
	if !rec.at.IsZero() {
		r.clock.day = rec.at
		if f.First.IsZero() || f.First.Year() != rec.at.Year() {
			f.First = rec.at
		}
	}
	if f.First.IsZero() && goesOn {
		f.First = r.before()
	}
	f.Last, r.lastAt = f.First, f.First
	if p.by == brod && f.Group == "" {
		f.Group = r.openFor
	}
	if f.Group == "" && needsGroup(f) {
		f.Group = r.groupOf(f, rec, goesOn)
	}
	r.previous = p.kind
	if r.outside(f.First) {
		return
	}
	r.found++
	r.groups.count(f.Group)
	if x := r.kept.add(f); x != nil {
		x.Sample, x.Source = cut(discreet(shown), maxSample), sourceOf(shown)
		x.Level = strings.ToUpper(cut(cmp.Or(x.Level, levelOf(rec.text)), 10))
	}
}

// groupOf is the group that the lines before name for the client or thread of a
// line that names none. A stack trace is of its record's thread.
func (r *Reader) groupOf(f diagnose.LogFinding, rec record, goesOn bool) string {
	if f.Client != "" {
		return r.groups.of["client "+f.Client]
	}
	thread, line := threadOf(rec.text), r.lines
	switch {
	case rec.head != "":
		thread = threadOf(rec.head)
	case goesOn && thread == "":
		thread, line = threadOf(cleaned(r.head[:r.headLen])), r.headLine
	}
	if line > 0 && r.groups.line == line {
		return r.groups.last
	}
	return r.groups.of["thread "+thread]
}

// Left is what [Options.From] and [Options.To] left out of recognised lines.
type Left struct {
	// Lines were stamped outside, Unstamped have no time at all.
	Lines, Unstamped int64
	// First and Last bound the stamps outside.
	First, Last time.Time
}

// Left says what the bounds of time left out.
func (r *Reader) Left() Left { return r.left }

// outside notes a line that the bounds of time leave out.
func (r *Reader) outside(at time.Time) bool {
	switch {
	case r.o.From.IsZero() && r.o.To.IsZero():
		return false
	case at.IsZero():
		r.left.Unstamped++
		return true
	case !at.Before(r.o.From) && (r.o.To.IsZero() || !at.After(r.o.To)):
		return false
	}
	r.left.Lines++
	if r.left.First.IsZero() || at.Before(r.left.First) {
		r.left.First = at
	}
	if at.After(r.left.Last) {
		r.left.Last = at
	}
	return true
}

// maxSample bounds the sample of a finding, in bytes.
const maxSample = 280

// stampless drops what collectors put before a line.
var collectorPrefix = regexp.MustCompile(`^(?:[\w.-]+\s+\| |\d{4}-\d\d-\d\dT[\d:.]+Z )`)

func stampless(s string) string {
	return strings.TrimSpace(collectorPrefix.ReplaceAllString(s, ""))
}

// pattern is the first of the table that fits, and where its word ends.
func (r *Reader) pattern(text string) (*pattern, int) {
	clear(r.ends)
	r.table.matcher.find(text, r.ends)
	best := -1
	for w := range r.ends {
		p := &r.table.patterns[w]
		if best >= 0 && w > best || p.re != nil && !p.re.MatchString(text) {
			continue
		}
		best = w
	}
	if best < 0 {
		return nil, 0
	}
	return &r.table.patterns[best], r.ends[best]
}
