package properties

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"strings"
	"testing"
)

// Java 17 and this reader see the same keys and values (testdata/Recorder.java
// wrote the file).
func TestReadsWhatJavaReads(t *testing.T) {
	data, err := os.ReadFile("testdata/java.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Text    string            `json:"text"`
		Pairs   map[string]string `json:"pairs"`
		Refused bool              `json:"refused"`
	}
	if err := json.Unmarshal(data, &cases); err != nil || len(cases) < 40 {
		t.Fatalf("%d cases: %v", len(cases), err)
	}
	for _, c := range cases {
		entries, err := ParseJava([]byte(c.Text))
		if (err != nil) != c.Refused {
			t.Errorf("%q: refused by Java: %v, here: %v", c.Text, c.Refused, err)
			continue
		}
		got := map[string]string{}
		for _, e := range entries {
			got[e.Key] = e.Value
		}
		if !c.Refused && !maps.Equal(got, c.Pairs) {
			t.Errorf("%q: %q, Java reads %q", c.Text, got, c.Pairs)
		}
	}
}

func TestPlaces(t *testing.T) {
	text := "# é\n\n  group.id = örders\r\nmax.poll.\\\n   records : 1\\\n 2\nempty=\n"
	got, err := ParseJava([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []Entry{
		{Key: "group.id", Value: "örders", Line: 3, Column: 3, ValueLine: 3, ValueColumn: 14},
		{Key: "max.poll.records", Value: "12", Line: 4, Column: 1, ValueLine: 5, ValueColumn: 14},
		{Key: "empty", Value: "", Line: 7, Column: 1, ValueLine: 7, ValueColumn: 7},
	}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%+v, want %+v", got[i], want[i])
		}
	}
}

func TestPlainFiles(t *testing.T) {
	got, err := ParsePlain([]byte("# c\n[default]\nsession.timeout.ms = 6000 \nsasl.password=a\\b=c\n\n[consumer]\ngroup.id=x\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Entry{
		{Key: "session.timeout.ms", Value: "6000", Line: 3, Column: 1, ValueLine: 3, ValueColumn: 22, Section: "default"},
		{Key: "sasl.password", Value: `a\b=c`, Line: 4, Column: 1, ValueLine: 4, ValueColumn: 15, Section: "default"},
		{Key: "group.id", Value: "x", Line: 7, Column: 1, ValueLine: 7, ValueColumn: 10, Section: "consumer"},
	}
	for i := range want {
		if len(got) != len(want) || got[i] != want[i] {
			t.Fatalf("%+v, want %+v", got, want)
		}
	}
}

func TestBadInputSaysWhere(t *testing.T) {
	for _, c := range []struct {
		name, text string
		plain      bool
		line       int
		want       string
	}{
		{"binary", "\x1f\x8b\x00", false, 1, "NUL byte"},
		{"UTF-16", "\xff\xfea\x00=\x001\x00", false, 1, "NUL byte"},
		{"nul", "a=\x00", false, 1, "NUL"},
		{"long line", "a=1\nb=" + strings.Repeat("x", MaxLine), false, 2, "longer than 64 kB"},
		{"large file", strings.Repeat("a=1\n", MaxBytes), false, 0, "larger than 1024 kB"},
		{"many keys", strings.Repeat("a=1\n", MaxEntries+1), false, MaxEntries + 1, "more than 10000 keys"},
		{"many keys, plain", strings.Repeat("a=1\n", MaxEntries+1), true, MaxEntries + 1, "more than 10000 keys"},
		{"half an escape", `a=C:\users`, false, 1, "four hexadecimal digits"},
		{"no value", "a=1\nsession.timeout.ms 5\n", true, 2, "wants key=value"},
	} {
		parse := ParseJava
		if c.plain {
			parse = ParsePlain
		}
		_, err := parse([]byte(c.text))
		var e *Error
		if !errors.As(err, &e) || e.Line != c.line || !strings.Contains(e.Message, c.want) {
			t.Errorf("%s: %v, want line %d: %s", c.name, err, c.line, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"a=1", "a\\\n = \\u0041", "[x]\n=", "\\", "\\\n\\\n", "\xef\xbb\xbfa=1"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		lines := 2 + strings.Count(string(data), "\n") + strings.Count(string(data), "\r")
		for _, parse := range []func([]byte) ([]Entry, error){ParseJava, ParsePlain} {
			entries, err := parse(data)
			if err != nil {
				continue
			}
			for i, e := range entries {
				if e.Line < 1 || e.Column < 1 || e.ValueLine < e.Line || e.ValueLine > lines || e.ValueColumn < 1 {
					t.Fatalf("%+v has no place in the file", e)
				}
				if i > 0 && e.Line <= entries[i-1].Line {
					t.Fatalf("%+v stands before %+v", e, entries[i-1])
				}
			}
		}
	})
}

// What is no UTF-8 is Latin-1, as java.util.Properties reads a stream; columns count
// characters there too.
func TestLatin1(t *testing.T) {
	for _, parse := range []func([]byte) ([]Entry, error){ParseJava, ParsePlain} {
		got, err := parse([]byte("# f\xfcr\nclient.id=\xe9t\xe9\n"))
		if err != nil || len(got) != 1 || got[0].Value != "été" || got[0].ValueLine != 2 || got[0].ValueColumn != 11 {
			t.Errorf("%+v, %v", got, err)
		}
		if got, err = parse([]byte("a=été\n")); err != nil || got[0].Value != "été" {
			t.Errorf("UTF-8: %+v, %v", got, err)
		}
	}
}
