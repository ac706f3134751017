// Package properties reads Java .properties files and librdkafka's key=value
// files with the place of every key and value.
//
// It exists because a check of a file has to say where: the one maintained
// library (magiconair/properties 1.18) keeps no positions, expands ${…}, and
// forgets the first of two equal keys. The syntax is that of
// java.util.Properties.load as its documentation states it, checked against
// Java 17 (testdata/java.tsv). Text is UTF-8, and Latin-1 where it is not: Kafka's
// own loader, java.util.Properties from a stream, reads nothing else.
package properties

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Limits on what a configuration file can sensibly hold.
const (
	MaxBytes   = 1 << 20
	MaxLine    = 64 << 10
	MaxEntries = 10000
)

// Entry is one key with its value. Lines and columns count from 1; columns
// count characters.
type Entry struct {
	Key, Value             string
	Line, Column           int
	ValueLine, ValueColumn int
	// Section is the [name] it stands under, in librdkafka's files only.
	Section string
}

// Error says where a file cannot be read. Line is 0 when it is the whole file.
type Error struct {
	Line, Column int
	Message      string
}

// Error writes line:column: message.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message)
}

// char is a character with its place.
type char struct {
	r         rune
	line, col int
	// escaped says that a backslash stood before it.
	escaped bool
}

// ParseJava reads a Java .properties file.
func ParseJava(data []byte) ([]Entry, error) {
	lines, err := Lines(fromLatin1(data))
	if err != nil {
		return nil, err
	}
	var out []Entry
	for i := 0; i < len(lines); i++ {
		body, col := trimLeft(lines[i])
		if body == "" || body[0] == '#' || body[0] == '!' {
			continue
		}
		chars := place(body, i+1, col)
		for continues(body) && i+1 < len(lines) {
			i++
			body, col = trimLeft(lines[i])
			chars = append(chars[:len(chars)-1], place(body, i+1, col)...)
		}
		if continues(body) {
			chars = chars[:len(chars)-1] // a backslash at the end of the file
		}
		e, err := entry(chars, i+1)
		if err != nil {
			return nil, err
		}
		if out = append(out, e); len(out) > MaxEntries {
			return nil, &Error{e.Line, e.Column, fmt.Sprintf("more than %d keys: this is no configuration file", MaxEntries)}
		}
	}
	return out, nil
}

// ParsePlain reads lines of key=value with # comments, as the tools around
// librdkafka do: nothing is escaped, and spaces around key and value go away.
// Lines such as [default] name a section.
func ParsePlain(data []byte) ([]Entry, error) {
	lines, err := Lines(fromLatin1(data))
	if err != nil {
		return nil, err
	}
	var out []Entry
	section := ""
	for i, line := range lines {
		body, col := trimLeft(line)
		body = strings.TrimRight(body, " \t\f")
		switch {
		case body == "" || body[0] == '#':
			continue
		case body[0] == '[' && strings.HasSuffix(body, "]"):
			section = body[1 : len(body)-1]
			continue
		}
		key, value, ok := strings.Cut(body, "=")
		if !ok {
			return nil, &Error{i + 1, col, "wants key=value"}
		}
		trimmed, lead := trimLeft(value)
		out = append(out, Entry{
			Key: strings.TrimRight(key, " \t\f"), Value: trimmed, Line: i + 1, Column: col, ValueLine: i + 1,
			ValueColumn: col + utf8.RuneCountInString(key) + lead, Section: section,
		})
		if len(out) > MaxEntries {
			return nil, &Error{i + 1, col, fmt.Sprintf("more than %d keys: this is no configuration file", MaxEntries)}
		}
	}
	return out, nil
}

// fromLatin1 makes UTF-8 of a text that is none: every byte is a character of
// ISO 8859-1. What is too large to be read stays as it is.
func fromLatin1(data []byte) []byte {
	if len(data) > MaxBytes || utf8.Valid(data) {
		return data
	}
	out := make([]byte, 0, len(data)+len(data)/8)
	for _, b := range data {
		out = utf8.AppendRune(out, rune(b))
	}
	return out
}

// Lines checks that the bytes are the text of a configuration file and cuts it
// at \n, \r and \r\n. A byte order mark is dropped.
func Lines(data []byte) ([]string, error) {
	if len(data) > MaxBytes {
		return nil, &Error{Message: fmt.Sprintf("is larger than %d kB: this is no configuration file", MaxBytes>>10)}
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	text := strings.ReplaceAll(strings.ReplaceAll(string(data), "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if len(l) > MaxLine {
			return nil, &Error{i + 1, 1, fmt.Sprintf("the line is longer than %d kB", MaxLine>>10)}
		}
		for j, r := range l {
			bad := r == utf8.RuneError && !strings.HasPrefix(l[j:], "\uFFFD")
			if bad || r == 0 {
				what := "is not UTF-8 text"
				if r == 0 {
					what = "holds a NUL byte: this is no text file"
				}
				return nil, &Error{i + 1, utf8.RuneCountInString(l[:j]) + 1, what}
			}
		}
	}
	return lines, nil
}

// trimLeft drops leading blanks and tells the column where the rest starts.
func trimLeft(s string) (string, int) {
	t := strings.TrimLeft(s, " \t\f")
	return t, utf8.RuneCountInString(s[:len(s)-len(t)]) + 1
}

// continues says that a line ends in an odd number of backslashes.
func continues(s string) bool {
	return (len(s)-len(strings.TrimRight(s, `\`)))%2 == 1
}

func place(s string, line, col int) []char {
	var out []char
	for _, r := range s {
		out = append(out, char{r: r, line: line, col: col})
		col++
	}
	return out
}

// entry cuts a logical line into key and value.
func entry(chars []char, last int) (Entry, error) {
	start := chars0(chars, last)
	chars, err := unescape(chars)
	if err != nil {
		return Entry{}, err
	}
	blank := func(c char) bool { return !c.escaped && (c.r == ' ' || c.r == '\t' || c.r == '\f') }
	sep := func(c char) bool { return !c.escaped && (c.r == '=' || c.r == ':') }
	i := 0
	for i < len(chars) && !blank(chars[i]) && !sep(chars[i]) {
		i++
	}
	key := chars[:i]
	for i < len(chars) && blank(chars[i]) {
		i++
	}
	if i < len(chars) && sep(chars[i]) {
		i++
		for i < len(chars) && blank(chars[i]) {
			i++
		}
	}
	e := Entry{Key: text(key), Value: text(chars[i:]), Line: start.line, Column: start.col, ValueLine: start.line, ValueColumn: start.col}
	switch {
	case i < len(chars):
		e.ValueLine, e.ValueColumn = chars[i].line, chars[i].col
	case len(chars) > 0:
		e.ValueLine, e.ValueColumn = chars[len(chars)-1].line, chars[len(chars)-1].col+1
	}
	return e, nil
}

func chars0(chars []char, last int) char {
	if len(chars) == 0 {
		return char{line: last, col: 1}
	}
	return chars[0]
}

// unescape takes the backslashes out.
func unescape(in []char) ([]char, error) {
	out := make([]char, 0, len(in))
	for i := 0; i < len(in); i++ {
		c := in[i]
		if c.r != '\\' {
			out = append(out, c)
			continue
		}
		if i++; i == len(in) {
			break
		}
		next := in[i]
		c.r, c.escaped = next.r, true
		switch next.r {
		case 't':
			c.r = '\t'
		case 'n':
			c.r = '\n'
		case 'r':
			c.r = '\r'
		case 'f':
			c.r = '\f'
		case 'u':
			n, ok := hex(in[i+1:])
			if !ok {
				return nil, &Error{c.line, c.col, `\u wants four hexadecimal digits; Java refuses the whole file. Write a backslash as \\`}
			}
			c.r = n
			i += 4
		}
		out = append(out, c)
	}
	return out, nil
}

func hex(in []char) (rune, bool) {
	if len(in) < 4 {
		return 0, false
	}
	digits := text(in[:4])
	n, err := strconv.ParseUint(digits, 16, 16)
	return rune(n), err == nil && !strings.ContainsAny(digits, "+-_")
}

func text(in []char) string {
	var units []uint16 // as Java counts: two escapes can be one character
	for _, c := range in {
		units = utf16.AppendRune(units, c.r)
		if utf16.IsSurrogate(c.r) {
			units[len(units)-1] = uint16(c.r)
		}
	}
	return string(utf16.Decode(units))
}
