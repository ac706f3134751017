package diagnose

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// MaxEvidenceBytes bounds what [Decode] reads. A scan of 2,000 groups stays
// far below.
const MaxEvidenceBytes = 32 << 20

// Encode writes evidence as indented JSON, sorted, in the present schema.
func Encode(e Evidence) ([]byte, error) {
	e = e.Sorted()
	e.Schema = SchemaVersion
	b, err := json.MarshalIndent(e, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encoding evidence: %w", err)
	}
	return append(compactPairs(b), '\n'), nil
}

// compactPairs puts each sample on one line: indented, a file of samples would
// be three times as long and harder to read.
func compactPairs(in []byte) []byte {
	lines := bytes.Split(in, []byte("\n"))
	out := make([][]byte, 0, len(lines))
	for i := 0; i < len(lines); i++ {
		if i+3 < len(lines) && isOpen(lines[i]) && isScalar(lines[i+1]) && isScalar(lines[i+2]) && isClose(lines[i+3]) {
			out = append(out, bytes.Join([][]byte{
				lines[i], bytes.TrimSpace(lines[i+1]), bytes.TrimSpace(lines[i+2]), bytes.TrimSpace(lines[i+3]),
			}, nil))
			i += 3
			continue
		}
		out = append(out, lines[i])
	}
	return bytes.Join(out, []byte("\n"))
}

func isOpen(b []byte) bool  { return string(bytes.TrimSpace(b)) == "[" }
func isClose(b []byte) bool { s := string(bytes.TrimSpace(b)); return s == "]" || s == "]," }

// isScalar recognises a number, or a number spelled as text, alone on its line.
func isScalar(b []byte) bool {
	s := strings.Trim(strings.TrimSuffix(string(bytes.TrimSpace(b)), ","), `"`)
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

// Decode reads evidence of this or an earlier schema. Unknown keys are
// ignored, so that a file with an added key still loads; a newer schema is
// refused, since its meaning is not known here. Errors say which line and
// field is wrong.
func Decode(b []byte) (Evidence, error) {
	if len(b) > MaxEvidenceBytes {
		return Evidence{}, fmt.Errorf("evidence is %d bytes, more than the limit of %d", len(b), MaxEvidenceBytes)
	}
	b, err := upgrade(b)
	if err != nil {
		return Evidence{}, err
	}
	var e Evidence
	if err := strictJSON(b, &e); err != nil {
		return Evidence{}, err
	}
	e = e.Sorted()
	if err := e.Validate(); err != nil {
		return Evidence{}, err
	}
	return e, nil
}

// strictJSON decodes exactly one value and locates what is wrong.
func strictJSON(b []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	if err := dec.Decode(into); err != nil {
		return located(b, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return located(b, &trailing{at: dec.InputOffset()})
	}
	return nil
}

type trailing struct{ at int64 }

func (*trailing) Error() string {
	return "something follows the evidence object; one file holds one object"
}

// located adds the line and field to a JSON error.
func located(b []byte, err error) error {
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	var rest *trailing
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("evidence, line %d: not valid JSON: %w", lineAt(b, syntax.Offset), err)
	case errors.As(err, &wrong):
		return fmt.Errorf("evidence, line %d, field %s: a %s cannot be read as %s", lineAt(b, wrong.Offset), wrong.Field, wrong.Value, wrong.Type)
	case errors.As(err, &rest):
		return fmt.Errorf("evidence, line %d: %w", lineAt(b, rest.at), err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("evidence, line %d: the file ends too early", lineAt(b, int64(len(b))))
	default:
		return fmt.Errorf("evidence: %w", err)
	}
}

func lineAt(b []byte, offset int64) int {
	offset = max(0, min(offset, int64(len(b))))
	return 1 + bytes.Count(b[:offset], []byte("\n"))
}

// MarshalJSON writes [unix milliseconds, value]. JSON has no NaN and no
// infinity; they are written as text.
func (s Sample) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 32)
	b = append(b, '[')
	b = strconv.AppendInt(b, s.T.UnixMilli(), 10)
	b = append(b, ',')
	if math.IsNaN(s.V) || math.IsInf(s.V, 0) {
		b = strconv.AppendQuote(b, strconv.FormatFloat(s.V, 'g', -1, 64))
	} else {
		b = strconv.AppendFloat(b, s.V, 'g', -1, 64)
	}
	return append(b, ']'), nil
}

// UnmarshalJSON reads [unix milliseconds, value]. Most of a file is samples, so
// it is done by hand.
func (s *Sample) UnmarshalJSON(b []byte) error {
	inside, ok := bytes.CutPrefix(b, []byte("["))
	first, second, two := bytes.Cut(bytes.TrimSuffix(inside, []byte("]")), []byte(","))
	if !ok || !two || bytes.ContainsAny(second, ",[") {
		return fmt.Errorf("a sample is [unix milliseconds, value], not %s", short(b))
	}
	ms, err := strconv.ParseFloat(string(bytes.TrimSpace(first)), 64)
	if err != nil || !(math.Abs(ms) <= maxUnixMilli) {
		return fmt.Errorf("a sample's time is unix milliseconds, not %s", short(first))
	}
	v, err := strconv.ParseFloat(string(bytes.Trim(bytes.TrimSpace(second), `"`)), 64)
	if err != nil {
		return fmt.Errorf("a sample's value is a number, not %s", short(second))
	}
	s.T, s.V = time.UnixMilli(int64(ms)).UTC(), v
	return nil
}

// maxUnixMilli is the end of year 9999, the last that JSON times can write.
const maxUnixMilli = 253402300799999

// short bounds outside text in an error.
func short(b []byte) string {
	const most = 40
	if len(b) > most {
		return strconv.Quote(string(b[:most])) + "…"
	}
	return strconv.Quote(string(b))
}

// targetJSON is the public form of a target: null, not "", where the question
// names nothing.
type targetJSON struct {
	Cluster string  `json:"cluster"`
	Broker  *int32  `json:"broker"`
	Group   *string `json:"group"`
	Topic   *string `json:"topic"`
}

// MarshalJSON writes null for a group or topic that is not named.
func (t Target) MarshalJSON() ([]byte, error) {
	return json.Marshal(targetJSON{t.Cluster, t.Broker, orNull(t.Group), orNull(t.Topic)})
}

// UnmarshalJSON reads null and "" alike.
func (t *Target) UnmarshalJSON(b []byte) error {
	var v targetJSON
	if err := json.Unmarshal(b, &v); err != nil {
		return fmt.Errorf("target: %w", err)
	}
	*t = Target{Cluster: v.Cluster, Broker: v.Broker}
	if v.Group != nil {
		t.Group = *v.Group
	}
	if v.Topic != nil {
		t.Topic = *v.Topic
	}
	return nil
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
