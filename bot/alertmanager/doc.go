// Package alertmanager receives the webhooks of Prometheus Alertmanager and
// asks its API the one question that webhooks cannot answer: is it still
// firing?
//
// [Decode] reads a webhook of version 4 as a stream: unknown fields are
// skipped, fields that newer releases added may be missing, and whatever is
// too much (members, labels, lengths) is cut and counted, so that a delivery
// of 20,000 members costs the memory of [Bounds.Members]. A body of another
// shape gives a [*ShapeError] whose text says what to change.
//
// [Mapping] finds cluster, broker, group, topic and kind of an alert in its
// labels, never in rendered text. [Handler] is the HTTP side: it answers 200
// only when its [Sink] says that the delivery is on disk, and 503 when it is
// not, because Alertmanager repeats a notification after 5xx only.
package alertmanager
