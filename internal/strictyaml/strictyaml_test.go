package strictyaml

import (
	"errors"
	"strings"
	"testing"
	"time"
)

type inner struct {
	URL  string        `yaml:"url"`
	Wait time.Duration `yaml:"wait"`
}

type picky struct{ v string }

func (p *picky) UnmarshalYAML(b []byte) error {
	if s := strings.TrimSpace(string(b)); s == "bad" {
		return errors.New("bad is not allowed")
	} else {
		p.v = s
	}
	return nil
}

type outer struct {
	Name  string           `yaml:"name"`
	Port  int              `yaml:"port"`
	On    bool             `yaml:"on"`
	List  []inner          `yaml:"list"`
	Map   map[string]inner `yaml:"map"`
	Picky picky            `yaml:"picky"`
	Ptr   *inner           `yaml:"ptr"`
}

func TestDecodeReportsEveryProblem(t *testing.T) {
	src := `name: x
port: many
nmae: y
on: perhaps
list:
  - url: a
    wait: soon
    extra: 1
  - [1]
map:
  k:
    urll: z
picky: bad
name: again
`
	var v outer
	_, problems := Decode("f.yaml", []byte(src), &v)
	var got []string
	for _, p := range problems {
		got = append(got, p.String())
	}
	want := []string{
		"f.yaml:2:7: port: wants a whole number",
		`f.yaml:3:1: nmae: unknown key; did you mean "name"?`,
		"f.yaml:4:5: on: wants true or false",
		"f.yaml:7:11: list[0].wait: wants a duration such as 30s or 5m",
		"f.yaml:8:5: list[0].extra: unknown key; known here: url, wait",
		"f.yaml:9:5: list[1]: wants a block of keys",
		`f.yaml:12:5: map.k.urll: unknown key; did you mean "url"?`,
		"f.yaml:13:8: picky: bad is not allowed",
		"f.yaml:14:1: name: the key stands here twice",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("problems:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if v.Name != "" || v.Port != 0 {
		t.Errorf("a faulty document filled the value: %+v", v)
	}
}

func TestDecodeKeepsDefaults(t *testing.T) {
	v := outer{Name: "default", Port: 9}
	if _, ps := Decode("f", []byte("port: 10\nptr: {url: u, wait: 90s}\n"), &v); len(ps) > 0 {
		t.Fatal(ps)
	}
	if v.Name != "default" || v.Port != 10 || v.Ptr == nil || v.Ptr.Wait != 90*time.Second {
		t.Errorf("got %+v", v)
	}
	if _, ps := Decode("f", nil, &v); len(ps) > 0 || v.Port != 10 {
		t.Errorf("an empty file changed the value: %+v %v", v, ps)
	}
}

func TestDecodeRefusesSyntaxAndSecondDocument(t *testing.T) {
	for src, want := range map[string]string{
		"a: [1":           "f:1:",
		"name: x\n---\nb": "f:3:1: a second document",
		"\tname: x":       "f:1:",
		"name: 'x":        "f:1:",
		"[]":              "f:1:1: wants a block of keys",
	} {
		var v outer
		_, ps := Decode("f", []byte(src), &v)
		if len(ps) != 1 || !strings.HasPrefix(ps[0].String(), want) {
			t.Errorf("%q: %v, want %q", src, ps, want)
		}
	}
}

func TestAtFindsTheFieldOrItsParent(t *testing.T) {
	var v outer
	doc, ps := Decode("f", []byte("name: x\nlist:\n  - url: a\n"), &v)
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	for field, want := range map[string]string{
		"$.list[0].url":  "f:3:10: list[0].url: m",
		"$.list[0].wait": "f:3:5: list[0].wait: m",
		"$.port":         "f:1:1: port: m",
	} {
		if got := doc.At(field, "m").String(); got != want {
			t.Errorf("%s: %s, want %s", field, got, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("name: x\nlist: [{url: a}]\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var v outer
		_, _ = Decode("f", b, &v)
	})
}
