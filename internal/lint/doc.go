// Package lint finds what is wrong with Kafka's configuration files before a
// night does: client properties (Java, Spring, Streams, Connect), librdkafka's
// key=value files, and a broker's server.properties.
//
//	doc, err := lint.Parse("consumer.properties", data, "")  // "" = tell the kind
//	findings := lint.Check(doc, lint.Options{PerRecord: 50 * time.Millisecond})
//
// Settings inside YAML (Spring, Strimzi, Helm, ConfigMaps) are read by [ParseAll],
// one Doc for each place: yaml.go follows the nodes, yaml_shapes.go knows the places.
//
// It is pure: no files, no clock. To read on: [Parse] reads a file and names
// its kind (kind.go, settings.go), keys.go holds every key that Kafka 2.4 to
// 4.4 and librdkafka 2.16 define (keys.tsv, from their own definitions by
// gen/gen.sh), and each check is one function in a file named after what it
// looks at. The arithmetic is that of package sizing, which the playbooks use
// as well. docs/lint.md lists the checks for people.
package lint
