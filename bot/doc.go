// Package bot is the server between alerts and a Slack thread.
//
//	receive.go   webhook, commands and clicks go into the store's inbox
//	worker.go    one goroutine takes them out, in order, in small batches
//	batch.go     each event steps its incident; effects are collected
//	effects.go   states, outgoing messages, looks and timers are written in the
//	             transaction that takes the events from the inbox
//	looks.go     diagnoses run beside it; their results come back as events
//	outbox.go    messages go out, in order per channel
//	deliver.go   what to do when Slack says no, or says nothing
//	lost.go      deleted roots, stray replies, channels that take nothing
//	absorb.go    symptoms that came before the verdict that explains them
//	view.go      an incident as a card; lines.go its lines in the thread
//
// Nothing is remembered in memory only: a process that is killed at any point
// goes on where the file says. A message is sent with its intent written down
// first, and searched for before it is sent again.
//
// The server sees its neighbours through small interfaces ([Diagnoser],
// [Poster], [Responder], [Asker]); cmd brings the concrete ones.
package bot
