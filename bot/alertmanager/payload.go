package alertmanager

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Delivery is one webhook, bounded. Its JSON form is what the inbox stores.
type Delivery struct {
	Receiver string `json:"receiver"`
	// GroupKey holds the route's matchers and the group labels: one alert that
	// passes two routes arrives with two keys.
	GroupKey string `json:"group_key"`
	// Reason is notification_reason, empty before Alertmanager 0.32.
	Reason string `json:"reason,omitempty"`
	// ExternalURL is where the sender says its own pages are.
	ExternalURL string `json:"external_url,omitempty"`
	// Truncated counts the members that the sender cut (max_alerts).
	Truncated int     `json:"truncated,omitempty"`
	Alerts    []Alert `json:"alerts"`
	Cut       Cut     `json:"cut,omitzero"`
}

// Alert is one member of a delivery, with its own status: the status of the
// delivery says "firing" while any member fires.
type Alert struct {
	Fingerprint  string            `json:"fingerprint"`
	Firing       bool              `json:"firing"`
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations,omitempty"`
	StartsAt     time.Time         `json:"starts_at"`
	EndsAt       time.Time         `json:"ends_at,omitzero"`
	GeneratorURL string            `json:"generator_url,omitempty"`
}

// Name is the alert's name.
func (a Alert) Name() string { return a.Labels["alertname"] }

// Cut counts what the bounds took away.
type Cut struct {
	// MembersFiring and MembersResolved were beyond the member bound.
	MembersFiring   int `json:"members_firing,omitempty"`
	MembersResolved int `json:"members_resolved,omitempty"`
	// Labels and Annotations were beyond the count bound, Texts were shortened.
	Labels      int `json:"labels,omitempty"`
	Annotations int `json:"annotations,omitempty"`
	Texts       int `json:"texts,omitempty"`
}

// Members is the number of members that were cut.
func (c Cut) Members() int { return c.MembersFiring + c.MembersResolved }

// ShapeError says that a body is not a webhook of version 4. Its text is meant
// for whoever configured the sender.
type ShapeError struct{ Problem string }

func (e *ShapeError) Error() string {
	return "this is not an Alertmanager webhook of version 4: " + e.Problem +
		". Use webhook_configs without a custom payload"
}

// wireAlert is a member as it is sent.
type wireAlert struct {
	Status       string            `json:"status"`
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL"`
	Fingerprint  string            `json:"fingerprint"`
}

// Decode reads one webhook. Errors are a *ShapeError, or what the reader
// returned (for example *http.MaxBytesError).
func Decode(r io.Reader, b Bounds) (Delivery, error) {
	d := decoding{dec: json.NewDecoder(r), bounds: b}
	if err := d.object(); err != nil {
		return Delivery{}, d.explain(err)
	}
	if err := d.check(); err != nil {
		return Delivery{}, err
	}
	return d.out, nil
}

type decoding struct {
	dec       *json.Decoder
	bounds    Bounds
	out       Delivery
	version   string
	sawAlerts bool
}

func (d *decoding) object() error {
	if err := d.delim('{', "the body is not a JSON object"); err != nil {
		return err
	}
	for d.dec.More() {
		t, err := d.dec.Token()
		if err != nil {
			return err
		}
		if err := d.field(t.(string)); err != nil {
			return err
		}
	}
	if _, err := d.dec.Token(); err != nil {
		return err
	}
	if _, err := d.dec.Token(); !errors.Is(err, io.EOF) {
		return &ShapeError{"there is more after the JSON object"}
	}
	return nil
}

func (d *decoding) field(name string) error {
	switch name {
	case "version":
		return d.text(name, &d.version, 16)
	case "receiver":
		return d.text(name, &d.out.Receiver, 256)
	case "groupKey":
		return d.text(name, &d.out.GroupKey, 4096)
	case "notification_reason":
		return d.text(name, &d.out.Reason, 64)
	case "externalURL":
		return d.text(name, &d.out.ExternalURL, 2048)
	case "truncatedAlerts":
		return d.value(name, "a number", &d.out.Truncated)
	case "alerts":
		return d.alerts()
	default:
		return d.skip()
	}
}

func (d *decoding) text(name string, into *string, limit int) error {
	if err := d.value(name, "a string", into); err != nil {
		return err
	}
	*into = d.bounds.cutTo(*into, limit, &d.out.Cut)
	return nil
}

func (d *decoding) value(name, want string, into any) error {
	err := d.dec.Decode(into)
	var typ *json.UnmarshalTypeError
	if errors.As(err, &typ) {
		return &ShapeError{fmt.Sprintf("field %q is not %s", name, want)}
	}
	return err
}

func (d *decoding) alerts() error {
	d.sawAlerts = true
	if err := d.delim('[', `field "alerts" is not a list`); err != nil {
		return err
	}
	for n := 0; d.dec.More(); n++ {
		var w wireAlert
		if err := d.dec.Decode(&w); err != nil {
			return d.memberError(n, err)
		}
		if err := d.member(n, w); err != nil {
			return err
		}
	}
	_, err := d.dec.Token()
	return err
}

func (d *decoding) member(n int, w wireAlert) error {
	if w.Status != "firing" && w.Status != "resolved" {
		return &ShapeError{fmt.Sprintf("alerts[%d].status is neither firing nor resolved", n)}
	}
	if len(w.Labels) == 0 {
		return &ShapeError{fmt.Sprintf("alerts[%d] has no labels", n)}
	}
	firing := w.Status == "firing"
	switch {
	case len(d.out.Alerts) < d.bounds.Members:
		d.out.Alerts = append(d.out.Alerts, d.bounds.alert(w, &d.out.Cut))
	case firing:
		d.out.Cut.MembersFiring++
	default:
		d.out.Cut.MembersResolved++
	}
	return nil
}

// memberError keeps transport errors as they are and words the others.
func (d *decoding) memberError(n int, err error) error {
	var typ *json.UnmarshalTypeError
	var at *time.ParseError
	switch {
	case errors.As(err, &typ):
		return &ShapeError{fmt.Sprintf("alerts[%d].%s is not of the expected type", n, typ.Field)}
	case errors.As(err, &at):
		return &ShapeError{fmt.Sprintf("alerts[%d] has a time that is not RFC 3339", n)}
	}
	return err
}

func (d *decoding) delim(want json.Delim, problem string) error {
	t, err := d.dec.Token()
	if err != nil {
		return err
	}
	if got, ok := t.(json.Delim); !ok || got != want {
		return &ShapeError{problem}
	}
	return nil
}

// skip passes over one value without holding it.
func (d *decoding) skip() error {
	for depth := 0; ; {
		t, err := d.dec.Token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

func (d *decoding) check() error {
	switch {
	case d.version == "" && !d.sawAlerts:
		return &ShapeError{`fields "version" and "alerts" are missing`}
	case d.version != "4":
		return &ShapeError{fmt.Sprintf(`field "version" is %q, not "4"`, d.version)}
	case len(d.out.Alerts) == 0:
		return &ShapeError{`field "alerts" is missing or empty`}
	case d.out.Truncated < 0:
		return &ShapeError{`field "truncatedAlerts" is negative`}
	}
	return nil
}

// explain words the decoder's own errors; what the reader returned stays.
func (d *decoding) explain(err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return &ShapeError{fmt.Sprintf("the body is not JSON at byte %d", syntax.Offset)}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &ShapeError{"the body ends too early"}
	}
	return err
}
