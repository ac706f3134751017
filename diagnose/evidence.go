package diagnose

import "time"

// SchemaVersion is the version that [Encode] writes. [Decode] reads it and all
// earlier ones.
const SchemaVersion = 1

// Evidence is everything the classifier may know about one target at one
// moment. It is plain data: it encodes to JSON, decodes to the same value and
// classifies the same on another machine.
type Evidence struct {
	Schema int `json:"schema"`
	// At is the only clock the classifier sees, UTC.
	At time.Time `json:"at"`
	// WindowSeconds is the span that is judged, ending at At. 600 by default,
	// never under 360: cache evictions come in waves of 120 s, so a shorter
	// window can fall into a silence (lab-measured).
	WindowSeconds int      `json:"window_seconds"`
	Trigger       *Trigger `json:"trigger,omitempty"`
	Target        Target   `json:"target"`
	// TargetReading says whether the target exists: empty = there is no such
	// broker, group or topic, unreachable = a broker that is down. The zero value
	// says nothing.
	TargetReading Reading `json:"target_reading,omitzero"`

	// Cluster is what the admin API says about the cluster as a whole.
	Cluster Cluster `json:"cluster"`
	// Metrics says which Prometheus dialect was read, and how well.
	Metrics MetricsSource `json:"metrics"`
	// Brokers are sorted by id.
	Brokers []Broker `json:"brokers,omitempty"`
	// GroupsReading covers listing and describing groups as a whole.
	GroupsReading Reading `json:"groups_reading"`
	// Groups are the described groups, sorted by id: the target group, or the
	// groups of a coordinator scan, or those that explain a broker's demand.
	Groups []Group `json:"groups,omitempty"`
	// Exported is what a group exporter says, beside or instead of the admin API.
	Exported ExportedGroups `json:"exported_groups,omitzero"`
	// Watcher is what the background watcher saw in the last hour.
	Watcher Watcher `json:"watcher"`
	// Clients are client-side metrics, sorted by client id.
	ClientsReading Reading  `json:"clients_reading"`
	Clients        []Client `json:"clients,omitempty"`
	// Pods says how reading pods went, PodList holds those of the groups' members,
	// sorted by namespace and name.
	Pods    Reading `json:"pods_reading"`
	PodList []Pod   `json:"pods,omitempty"`
	// Logs says how reading log text went, LogText what was found in it.
	Logs    Reading `json:"logs_reading"`
	LogText LogText `json:"logs,omitzero"`
}

// Trigger is what started the diagnosis, nil for a question without an alert.
type Trigger struct {
	// AlertName is the alert's name as it came.
	AlertName string `json:"alert_name"`
	// Labels are the alert's labels, bounded by the receiver.
	Labels   map[string]string `json:"labels,omitempty"`
	StartsAt time.Time         `json:"starts_at,omitzero"`
}

// Target is what is asked about. Broker is nil, and the strings are empty,
// where the question does not name one.
type Target struct {
	Cluster string `json:"cluster"`
	Broker  *int32 `json:"broker"`
	Group   string `json:"group"`
	Topic   string `json:"topic"`
}

// Cluster is the cluster as the admin API shows it.
type Cluster struct {
	Reading
	ID string `json:"id,omitempty"`
	// ControllerID is the active controller's broker id, -1 when unknown.
	ControllerID int32 `json:"controller_id"`
	// Version is the release the brokers' ApiVersions point to, for example
	// "3.8 or newer"; an override from the configuration wins.
	Version string `json:"version,omitempty"`
	// ShardedCache is true from Kafka 3.8 on, where the fetch session cache has
	// 8 shards and a capacity of 8·⌊slots/8⌋ (KAFKA-9401). Nil when unknown.
	ShardedCache *bool `json:"sharded_cache,omitempty"`
	// Flavour is "apache" or the name of a Kafka-like system to which the
	// fetch-session classes do not apply.
	Flavour string `json:"flavour,omitempty"`
}

// MetricsSource is the Prometheus side as a whole.
type MetricsSource struct {
	Reading
	// Dialect is the exporter dialect that was resolved: "jmx-none" (MSK),
	// "jmx-examples", "strimzi", …
	Dialect string `json:"dialect,omitempty"`
	// Selector is the cluster matcher that was applied, as written in PromQL.
	Selector string `json:"selector,omitempty"`
	// ScrapeSeconds is the scrape interval seen in the samples (median gap),
	// 0 when unknown.
	ScrapeSeconds float64 `json:"scrape_seconds,omitempty"`
	// RangeSeconds is how far back the raw samples reach, at least
	// WindowSeconds.
	RangeSeconds int `json:"range_seconds,omitempty"`
}

// Broker is one broker. Its series are under Signals, by [Signal].
type Broker struct {
	ID   int32  `json:"id"`
	Host string `json:"host,omitempty"`
	Rack string `json:"rack,omitempty"`
	// Identity says how the metric series were matched to this broker
	// ("label broker_id", "advertised host", "unique leader count"), or why
	// they could not be (status not ok).
	Identity Reading `json:"identity"`
	// Signals holds raw samples by signal. A signal that is not in the map was
	// not asked for.
	Signals map[Signal]Metric `json:"signals,omitempty"`
	// Slots is max.incremental.fetch.session.cache.slots (DescribeConfigs).
	Slots Setting `json:"slots"`
	// Settings are the other configs rules use, by config name.
	Settings map[string]Setting `json:"settings,omitempty"`
	// Leading is the number of partitions this broker leads by metadata.
	Leading *int `json:"leading,omitempty"`
	// Awaited is the number of partitions whose preferred leader this broker is
	// and which another broker leads: what the next preferred election brings back.
	Awaited *int `json:"awaited,omitempty"`
	// Demand is how many fetch sessions this broker has to hold.
	Demand Demand `json:"demand"`
	// Software counts client connections by library (socket-server-metrics).
	SoftwareReading Reading    `json:"software_reading"`
	Software        []Software `json:"software,omitempty"`
	// SoftwareGone are libraries that were connected within the range that was read
	// (MetricsSource.RangeSeconds) and are not any more, with the connections they
	// had when last seen.
	SoftwareGoneReading Reading    `json:"software_gone_reading,omitzero"`
	SoftwareGone        []Software `json:"software_gone,omitempty"`
}

// Setting is one configuration value with its origin.
type Setting struct {
	Reading
	Value string `json:"value,omitempty"`
	// Origin is Kafka's config source, for example STATIC_BROKER_CONFIG.
	Origin string `json:"origin,omitempty"`
}

// Demand is the number of live fetch sessions that a broker must hold.
//
// Topology counts are exact for group consumers and follower fetchers; clients
// outside groups are not in them. Connections bound the demand from above,
// since one client holds at most one session per broker.
type Demand struct {
	Reading
	// Consumers is the number of group members with a partition led here,
	// without members of libraries that use no sessions (librdkafka, Sarama).
	Consumers int `json:"consumers"`
	// Followers is Σ over followers of min(num.replica.fetchers, partitions
	// they replicate from here).
	Followers int `json:"followers"`
	// Connections is the number of client connections on this broker, the
	// upper bound; -1 when not exported.
	Connections int `json:"connections"`
	// ByGroup names the biggest users, most first, at most ten.
	ByGroup []GroupDemand `json:"by_group,omitempty"`
	// ByClient counts the same members by client id, with * for what tells
	// instances apart (notifier-*), and ByHost by host; most first, at most ten each.
	ByClient []NamedDemand `json:"by_client,omitempty"`
	ByHost   []NamedDemand `json:"by_host,omitempty"`
}

// demandNamed is the most that a list of Demand names.
const demandNamed = 10

// GroupDemand is one group's share of a broker's demand.
type GroupDemand struct {
	Group   string `json:"group"`
	Members int    `json:"members"`
}

// NamedDemand is the share of a family of client ids, or of a host: members with a
// partition led by the broker, and in how many groups.
type NamedDemand struct {
	Name    string `json:"name"`
	Members int    `json:"members"`
	Groups  int    `json:"groups"`
}

// Software is a client library seen on a broker's connections.
type Software struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Connections int    `json:"connections"`
}

// Metric is one signal of one broker or client: how it was read, and the raw
// samples. Several series stand side by side when one signal has several label
// sets (RequestsPerSec by version) or when the scrape target changed its name
// at a restart.
type Metric struct {
	Reading
	Series []Series `json:"series,omitempty"`
}

// Series is one label set with its samples, oldest first.
type Series struct {
	// Labels are those that tell the series of one signal apart.
	Labels  map[string]string `json:"labels,omitempty"`
	Samples []Sample          `json:"samples"`
}

// Sample is one scraped value. It encodes as [unix milliseconds, value].
type Sample struct {
	T time.Time
	V float64
}

// Group is one consumer group.
type Group struct {
	Reading
	ID string `json:"id"`
	// Protocol is "classic", "consumer" (KIP-848), "share" or "streams".
	Protocol string `json:"protocol,omitempty"`
	// ProtocolType is "consumer", "connect" or what the group says.
	ProtocolType string `json:"protocol_type,omitempty"`
	// Coordinator is the broker id, -1 when unknown.
	Coordinator int32 `json:"coordinator"`
	// Snapshots are the group as described, oldest first, only where it
	// changed; the last one is the current state.
	Snapshots []GroupSnapshot `json:"snapshots,omitempty"`
	// Settings are settings of the group itself, by Kafka's names. A KIP-848 group
	// may have a session timeout and a heartbeat interval of its own
	// (consumer.session.timeout.ms, consumer.heartbeat.interval.ms), which replace
	// those of its coordinator. Absent where they were not asked for.
	Settings map[string]Setting `json:"settings,omitempty"`
	// History is the group's log in __consumer_offsets.
	History GroupHistory `json:"history"`
	// Lag holds the total over time, oldest first.
	LagReading Reading    `json:"lag_reading"`
	Lag        []LagPoint `json:"lag,omitempty"`
}

// GroupSnapshot is one answer of DescribeGroups or ConsumerGroupDescribe.
type GroupSnapshot struct {
	At time.Time `json:"at"`
	// Until is the last time the group was seen like this.
	Until    time.Time `json:"until,omitzero"`
	State    string    `json:"state"`
	Assignor string    `json:"assignor,omitempty"`
	// Epoch is the group epoch of a KIP-848 group, -1 for a classic one.
	Epoch   int32    `json:"epoch"`
	Members []Member `json:"members,omitempty"`
}

// Member is a group member as described.
type Member struct {
	ID         string `json:"id"`
	InstanceID string `json:"instance_id,omitempty"`
	ClientID   string `json:"client_id,omitempty"`
	Host       string `json:"host,omitempty"`
	// Epoch is the member epoch of KIP-848, -1 for a classic member.
	Epoch      int32            `json:"epoch"`
	Partitions []TopicPartition `json:"partitions,omitempty"`
}

// TopicPartition names a partition.
type TopicPartition struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
}

// GroupHistory is what the group's partition of __consumer_offsets holds: the
// membership records, oldest first, and the commits that date them.
type GroupHistory struct {
	Reading
	// OffsetsPartition is the partition read, -1 when none was.
	OffsetsPartition int32 `json:"offsets_partition"`
	// From is the timestamp of the oldest record read.
	From time.Time `json:"from,omitzero"`
	// Baseline says that a membership record from before the window was found,
	// so that "who left" is visible. Without it a verdict about membership is
	// never confirmed.
	Baseline bool          `json:"baseline"`
	Records  []GroupRecord `json:"records,omitempty"`
	Commits  []Commit      `json:"commits,omitempty"`
}

// GroupRecord is the group's membership at one moment: one GroupMetadata value
// of a classic group, as a rebalance left it, or what the records of a KIP-848
// group add up to after one change.
type GroupRecord struct {
	// At is the record's timestamp. For a KIP-848 group it is the moment of the
	// change itself: a member is written down as it joins, leaves or is fenced.
	At time.Time `json:"at"`
	// StateAt is currentStateTimestamp (value v2+): for a record that ends a
	// rebalance, the end of its join phase. Zero when unknown, and for KIP-848
	// groups, which have no join phase.
	StateAt time.Time `json:"state_at,omitzero"`
	// Tombstone says that the group was deleted.
	Tombstone bool `json:"tombstone,omitempty"`
	// Protocol is "consumer" for the records of a KIP-848 group, empty for
	// classic ones. A group that was converted has both.
	Protocol string `json:"protocol,omitempty"`
	// Generation is the generation of a classic group, the group epoch of a
	// KIP-848 group. Several records of one epoch show how its members take up
	// their new assignments.
	Generation int32          `json:"generation"`
	Assignor   string         `json:"assignor,omitempty"`
	Leader     string         `json:"leader,omitempty"`
	Members    []RecordMember `json:"members,omitempty"`
}

// RecordMember is a member inside a GroupRecord. The timeouts identify the
// client family and the limits without access to the client.
type RecordMember struct {
	ID         string `json:"id"`
	InstanceID string `json:"instance_id,omitempty"`
	ClientID   string `json:"client_id,omitempty"`
	Host       string `json:"host,omitempty"`
	// RebalanceTimeoutMS equals max.poll.interval.ms for Java and librdkafka.
	RebalanceTimeoutMS int32 `json:"rebalance_timeout_ms"`
	// SessionTimeoutMS is 0 for members of the KIP-848 protocol: theirs is a
	// setting of the coordinator or group and in no record.
	SessionTimeoutMS int32 `json:"session_timeout_ms"`
	// Partitions are those it holds, with KIP-848 those that it was asked to
	// give up included.
	Partitions []TopicPartition `json:"partitions,omitempty"`

	// The rest is for members of KIP-848 groups.

	// Epoch is the member's epoch, [EpochLeftForNow] for a static member that
	// left and may come back; 0 when unknown.
	Epoch int32 `json:"epoch,omitempty"`
	// State is how far the member has taken up its assignment: MemberStable,
	// MemberUnrevoked or MemberUnreleased; empty when unknown.
	State string `json:"state,omitempty"`
	// StateAt is since when epoch, state and partitions are as shown.
	StateAt time.Time `json:"state_at,omitzero"`
	// Revoking are the partitions that it was asked to give up and still holds.
	Revoking []TopicPartition `json:"revoking,omitempty"`
}

// EpochLeftForNow is the member epoch of a static member that has left and is
// waited for until its session runs out (KIP-848, LEAVE_GROUP_STATIC_MEMBER_EPOCH).
const EpochLeftForNow = -2

// The states of a KIP-848 member (Kafka's MemberState).
const (
	// MemberStable has everything it was given.
	MemberStable = "stable"
	// MemberUnrevoked was asked to give up partitions and has not yet. If it
	// takes longer than its rebalance timeout, it is fenced.
	MemberUnrevoked = "unrevoked"
	// MemberUnreleased waits for partitions that others still hold.
	MemberUnreleased = "unreleased"
)

// Commit is one offset commit of one partition.
type Commit struct {
	At time.Time `json:"at"`
	TopicPartition
	Offset int64 `json:"offset"`
}

// LagPoint is a group's lag at one moment, in records.
type LagPoint struct {
	At    time.Time `json:"at"`
	Total int64     `json:"total"`
	// EndTotal and CommittedTotal are the sums it comes from: their growth
	// tells produce and consume rates.
	EndTotal       int64 `json:"end_total"`
	CommittedTotal int64 `json:"committed_total"`
	// Hidden is the number of partitions that could not be read.
	Hidden int `json:"hidden,omitempty"`
}

// Watcher is the background watcher's memory.
type Watcher struct {
	Reading
	// Since is the moment from which it has watched without a gap.
	Since time.Time `json:"since,omitzero"`
	// Losses are members that disappeared, oldest first, in all groups of the
	// cluster.
	Losses []Loss `json:"losses,omitempty"`
	// StableGroups is the number of groups on each coordinator that kept their
	// members through the window, by broker id.
	StableGroups []CoordinatorGroups `json:"stable_groups,omitempty"`
}

// CoordinatorGroups counts the groups of one coordinator.
type CoordinatorGroups struct {
	Broker int32 `json:"broker"`
	Stable int   `json:"stable"`
	Hurt   int   `json:"hurt"`
}

// Loss is one member that left a group between two looks of the watcher.
type Loss struct {
	Group       string `json:"group"`
	Coordinator int32  `json:"coordinator"`
	MemberID    string `json:"member_id"`
	ClientID    string `json:"client_id,omitempty"`
	Host        string `json:"host,omitempty"`
	// After and By bound the moment: last seen, first missed.
	After time.Time `json:"after"`
	By    time.Time `json:"by"`
}

// Client is one consumer process as its own metrics show it.
type Client struct {
	ClientID string `json:"client_id"`
	// Instance is the scrape target.
	Instance string            `json:"instance,omitempty"`
	Signals  map[Signal]Metric `json:"signals,omitempty"`
}
