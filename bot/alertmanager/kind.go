package alertmanager

import (
	"strings"

	"github.com/kafka-oncall/kafka-oncall/bot/incident"
)

// KindRule gives a kind to every alert whose normalised name (lower case,
// letters only) contains one of the words.
type KindRule struct {
	Kind     incident.Kind `yaml:"kind"`
	Contains []string      `yaml:"contains"`
}

// DefaultKinds covers the shipped rules and the published rule sets. The first
// rule that matches wins: a fetch-session rule about followers is still about
// fetch sessions, and a lag rule about a consumer group is about lag.
func DefaultKinds() []KindRule {
	return []KindRule{
		{incident.KindFetch, []string{"fetchsession", "sessioncache", "incrementalfetch"}},
		{incident.KindMembership, []string{
			"memberlost", "unknownmember", "groupmember", "rebalanc", "heartbeat", "pollbudget", "pollinterval",
			"groupstate", "groupevict", "connectfailed", "connectcontainers", "mirrormaker",
		}},
		{incident.KindLag, []string{"lag", "consumersgroup", "nomessage", "topicoffset"}},
		{incident.KindBroker, []string{
			"underreplicated", "undermin", "offline", "controller", "isr", "replica", "broker", "kafkacontainer",
			"unclean", "imbalance", "logdir", "runningoutofspace", "scrapeproblem", "zookeeper", "kafkanotready",
			"servicedown", "kafkadown", "partition",
		}},
	}
}

func (m Mapping) kind(normalName string) incident.Kind {
	for _, r := range m.Kinds {
		for _, w := range r.Contains {
			if w != "" && strings.Contains(normalName, normal(w)) {
				return r.Kind
			}
		}
	}
	return incident.KindOther
}
