package alertmanager

import "strings"

// Kind is what an alert's name is about.
type Kind string

// The kinds.
const (
	// KindFetch: fetch sessions, their cache and their errors.
	KindFetch Kind = "fetch"
	// KindMembership: members, rebalances, heartbeats.
	KindMembership Kind = "membership"
	// KindLag: consumer lag.
	KindLag Kind = "lag"
	// KindBroker: brokers, replicas, leaders, controllers, disks.
	KindBroker Kind = "broker"
	// KindOther: everything else.
	KindOther Kind = "other"
)

// KindRule gives a kind to every alert whose normalised name (lower case,
// letters only) contains one of the words.
type KindRule struct {
	Kind     Kind     `yaml:"kind"`
	Contains []string `yaml:"contains"`
}

// DefaultKinds covers the shipped rules and the published rule sets. The first
// rule that matches wins: a fetch-session rule about followers is still about
// fetch sessions, and a lag rule about a consumer group is about lag.
func DefaultKinds() []KindRule {
	return []KindRule{
		{KindFetch, []string{"fetchsession", "sessioncache", "incrementalfetch"}},
		{KindMembership, []string{
			"memberlost", "unknownmember", "groupmember", "rebalanc", "heartbeat", "pollbudget", "pollinterval",
			"groupstate", "groupevict", "connectfailed", "connectcontainers", "mirrormaker",
		}},
		{KindLag, []string{"lag", "consumersgroup", "nomessage", "topicoffset"}},
		{KindBroker, []string{
			"underreplicated", "undermin", "offline", "controller", "isr", "replica", "broker", "kafkacontainer",
			"unclean", "imbalance", "logdir", "runningoutofspace", "scrapeproblem", "zookeeper", "kafkanotready",
			"servicedown", "kafkadown", "partition",
		}},
	}
}

func (m Mapping) kind(normalName string) Kind {
	for _, r := range m.Kinds {
		for _, w := range r.Contains {
			if w != "" && strings.Contains(normalName, normal(w)) {
				return r.Kind
			}
		}
	}
	return KindOther
}
