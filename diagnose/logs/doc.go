// Package logs recognises lines of Kafka brokers and clients in log text.
//
//	text, err := logs.Read(r, logs.Options{Now: now})
//
// It takes text as people have it: log4j in any pattern, Spring Boot consoles,
// JSON of many shapes, librdkafka, franz-go, Sarama, kafka-python and kafkajs
// lines, behind the prefixes of docker, kubectl and syslog, with colours, CRLF
// and stack traces. What it finds becomes part of the evidence
// ([diagnose.LogText]); what that means is judged there, since log text is a
// witness and not a judge.
//
// The way of a line: cut at [Options.MaxLine] → one pass of a word matcher over
// the raw bytes (match.go), which drops nearly all lines → cleaned and, for
// JSON, flattened (clean.go, flatten.go) → the first pattern of the table that
// fits (patterns.go) → who, when and how much (fields.go, stamp.go) → counted
// under what it means (keep.go).
//
// Memory is bounded whatever the input: one line, a fixed number of findings,
// cut samples. Nothing secret is kept: values of passwords, tokens and user
// information in addresses are blanked in samples and details.
package logs
