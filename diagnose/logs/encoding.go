package logs

import (
	"io"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// decoded is an input as UTF-8 with lines that end in a line feed, whatever wrote
// it: text with a byte order mark (Windows tools write UTF-16) is decoded, and a
// carriage return ends a line with or without a line feed behind it.
func decoded(in io.Reader) io.Reader {
	plain := transform.NewReader(in, unicode.BOMOverride(transform.Nop))
	return &lineEnds{in: plain}
}

// lineEnds turns CR and CR LF into LF.
type lineEnds struct {
	in io.Reader
	// cr says that the byte before was a carriage return.
	cr bool
}

func (l *lineEnds) Read(p []byte) (int, error) {
	n, err := l.in.Read(p)
	out := p[:0]
	for _, b := range p[:n] {
		switch {
		case b == '\r':
			out = append(out, '\n')
		case b != '\n' || !l.cr:
			out = append(out, b)
		}
		l.cr = b == '\r'
	}
	return len(out), err
}

// counted counts the bytes of an input.
type counted struct {
	in io.Reader
	n  *int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	*c.n += int64(n)
	return n, err
}
