package playbooks

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strings"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/internal/strictyaml"
)

//go:embed data/*.yaml
var embedded embed.FS

// maxFile bounds a playbook file.
const maxFile = 256 << 10

// Set is a collection of playbooks, at most one a class. It does not change
// after loading and may be used from several goroutines.
type Set struct {
	books map[diagnose.Class]*book
}

// Problems is an error that holds every mistake found while loading.
type Problems []Problem

// Error writes one problem a line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, x := range p {
		lines[i] = x.String()
	}
	return strings.Join(lines, "\n")
}

// Default returns the playbooks that are built in.
func Default() (*Set, error) {
	sub, err := fs.Sub(embedded, "data")
	if err != nil {
		return nil, fmt.Errorf("open the built-in playbooks: %w", err)
	}
	s := &Set{books: map[diagnose.Class]*book{}}
	if ps := s.add(sub); len(ps) > 0 {
		return nil, ps
	}
	return s, nil
}

// Load returns the built-in playbooks with those of overlay put over them, one
// file a class: a class that overlay has is replaced whole, a new one is added.
// A nil overlay gives [Default]. The error is [Problems] when files are faulty.
func Load(overlay fs.FS) (*Set, error) {
	s, err := Default()
	if err != nil || overlay == nil {
		return s, err
	}
	if ps := s.add(overlay); len(ps) > 0 {
		return nil, ps
	}
	return s, nil
}

// add reads every .yaml and .yml file at the top of fsys. Two files for one
// class are a mistake.
func (s *Set) add(fsys fs.FS) Problems {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return Problems{{Message: "the folder of playbooks cannot be read: " + reason(err)}}
	}
	var ps Problems
	from := map[diagnose.Class]string{}
	for _, e := range entries {
		if ext := path.Ext(e.Name()); e.IsDir() || ext != ".yaml" && ext != ".yml" {
			continue
		}
		b, problems := readBook(fsys, e.Name())
		ps = append(ps, problems...)
		if len(problems) > 0 {
			continue
		}
		if other, twice := from[b.Class]; twice {
			ps = append(ps, b.doc.At("$.class", fmt.Sprintf("the class %s has a playbook in %s already", b.Class, other)))
			continue
		}
		from[b.Class] = e.Name()
		s.books[b.Class] = b
	}
	return ps
}

// reason words a file error without the path of the machine.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

func readBook(fsys fs.FS, name string) (*book, Problems) {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, Problems{{File: name, Message: "the file cannot be read: " + reason(err)}}
	}
	if len(data) > maxFile {
		return nil, Problems{{File: name, Message: fmt.Sprintf("the file is larger than %d kB", maxFile>>10)}}
	}
	b := &book{}
	doc, ps := strictyaml.Decode(name, data, &b.Playbook)
	if len(ps) > 0 {
		return nil, ps
	}
	b.doc = doc
	var problems Problems
	if _, known := diagnose.Lookup(b.Class); !known {
		problems = append(problems, doc.At("$.class", fmt.Sprintf("%q is not a class; `playbooks list` shows them", b.Class)))
	}
	for i := range b.Steps {
		if err := b.Steps[i].share(); err != nil {
			problems = append(problems, doc.At(fmt.Sprintf("$.steps[%d].uses", i), err.Error()))
		}
		b.steps = append(b.steps, compileStep(&b.Steps[i], func(field string, err error) {
			problems = append(problems, doc.At(fmt.Sprintf("$.steps[%d]%s", i, field), err.Error()))
		}))
	}
	return b, problems
}

// Show returns the playbook of a class as its file says it.
func (s *Set) Show(c diagnose.Class) (Playbook, bool) {
	b, ok := s.books[c]
	if !ok {
		return Playbook{}, false
	}
	return b.Playbook, true
}

// List returns all playbooks in the order of the catalogue.
func (s *Set) List() []Playbook {
	rank := map[diagnose.Class]int{}
	for i, e := range diagnose.Catalogue() {
		rank[e.Class] = i
	}
	out := make([]Playbook, 0, len(s.books))
	for _, b := range s.books {
		out = append(out, b.Playbook)
	}
	sort.Slice(out, func(i, j int) bool { return rank[out[i].Class] < rank[out[j].Class] })
	return out
}

func headline(c diagnose.Class) string {
	if e, ok := diagnose.Lookup(c); ok {
		return e.Headline
	}
	return string(c)
}
