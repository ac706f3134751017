// Package stage plays a recorded incident back, as if it happened now.
//
// A [Recording] is what `kafka-lab run … --record DIR` wrote about a real
// broker: Prometheus samples, records of __consumer_offsets, every changed
// answer about the groups, and the topology. A [Stage] serves it over the real
// protocols: the samples through the PromQL engine over HTTP, the admin API and
// the offsets topic through an in-process Kafka (kfake). So the real collectors
// read it without knowing.
//
//	rec, err := stage.Load(fsys)
//	st, err := stage.Open(rec, clock)   // recorded time follows clock.Now()
//	… st.Bootstrap(), st.PrometheusURL()
//	defer st.Close()
//
// Nothing from after the clock's now is visible. The in-process Kafka proves
// plumbing; the truth is in the recording.
package stage
