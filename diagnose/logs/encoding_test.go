package logs_test

import (
	"strings"
	"testing"
	"unicode/utf16"
)

// utf16Of writes a text with its byte order mark.
func utf16Of(s string, little bool) string {
	var b strings.Builder
	for _, u := range append([]uint16{0xfeff}, utf16.Encode([]rune(s))...) {
		if little {
			b.WriteString(string([]byte{byte(u), byte(u >> 8)}))
		} else {
			b.WriteString(string([]byte{byte(u >> 8), byte(u)}))
		}
	}
	return b.String()
}

// The same two lines in every encoding and with every line end are the same.
func TestEncodingsAndLineEnds(t *testing.T) {
	const text = "2031-03-01 10:00:05,120 WARN [Consumer clientId=a, groupId=caf\u00e9] consumer poll timeout has expired.\nnext\n"
	for name, in := range map[string]string{
		"utf-8": text, "utf-8 with a mark": "\xef\xbb\xbf" + text, "utf-16 little": utf16Of(text, true), "utf-16 big": utf16Of(text, false),
		"cr": strings.ReplaceAll(text, "\n", "\r"), "crlf": strings.ReplaceAll(text, "\n", "\r\n"), "utf-16 crlf": utf16Of(strings.ReplaceAll(text, "\n", "\r\n"), true),
		"cr, long": strings.Repeat("x\r", 40<<10) + strings.ReplaceAll(text, "\n", "\r"),
	} {
		got := read(t, in)
		if len(got.Findings) != 1 || got.Findings[0].Group != "caf\u00e9" || got.Bytes != int64(len(in)) {
			t.Errorf("%s: %d of %d bytes, %+v", name, got.Bytes, len(in), got.Findings)
		}
		if got.Lines != 2 && name != "cr, long" {
			t.Errorf("%s: %d lines", name, got.Lines)
		}
	}
}

// A damaged name is no name: the line goes to the group that its client belongs to.
func TestBrokenBytesNameNoGroup(t *testing.T) {
	const line = "2031-03-01 10:00:05,120 WARN [Consumer clientId=a, groupId=orders] consumer poll timeout has expired.\n"
	d, e := classify(t, line+strings.Replace(line, "orders", "ord\xff\xfeers", 1))
	for _, f := range e.LogText.Findings {
		if f.Group != "orders" && f.Group != "" {
			t.Errorf("group %q", f.Group)
		}
	}
	if len(d.Findings) != 1 || d.Findings[0].Subject != "group orders" {
		t.Errorf("%+v", d.Findings)
	}
}
