package diagnose

import (
	"encoding/json"
	"fmt"
)

// upgrader turns one schema into the next. It works on the raw object, since
// the types of old schemas are gone.
type upgrader func(map[string]json.RawMessage) error

// upgraders holds, at index n, the step from schema n to n+1. A file of any
// past schema runs through the rest of the table.
func upgraders() []upgrader { return []upgrader{from0} }

// from0 reads the form that was recorded before the first release: the window
// was a Go duration text under "window".
func from0(o map[string]json.RawMessage) error {
	raw, ok := o["window"]
	if !ok {
		return nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return fmt.Errorf("field window: %w", err)
	}
	d, err := parseDuration(text)
	if err != nil {
		return fmt.Errorf("field window: %w", err)
	}
	delete(o, "window")
	o["window_seconds"] = json.RawMessage(fmt.Sprint(int(d.Seconds())))
	return nil
}

// upgrade brings a file to the present schema; one of the present schema comes
// back as it is.
func upgrade(b []byte) ([]byte, error) {
	var head struct {
		Schema *int `json:"schema"`
	}
	if err := strictJSON(b, &head); err != nil {
		return nil, err
	}
	if head.Schema == nil {
		return nil, fmt.Errorf("evidence: field schema is missing; is this an evidence file?")
	}
	n := *head.Schema
	switch {
	case n > SchemaVersion:
		return nil, fmt.Errorf("evidence has schema %d, this program knows up to %d: use a newer kafka-oncall", n, SchemaVersion)
	case n < 0:
		return nil, fmt.Errorf("evidence has schema %d; schemas are counted from 0", n)
	case n == SchemaVersion:
		return b, nil
	}
	var o map[string]json.RawMessage
	if err := strictJSON(b, &o); err != nil {
		return nil, err
	}
	for ; n < SchemaVersion; n++ {
		if err := upgraders()[n](o); err != nil {
			return nil, fmt.Errorf("evidence, from schema %d to %d: %w", n, n+1, err)
		}
	}
	o["schema"] = json.RawMessage(fmt.Sprint(SchemaVersion))
	out, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("evidence, upgraded: %w", err)
	}
	return out, nil
}
