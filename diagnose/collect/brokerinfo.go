package collect

// BrokerInfo is one broker as the Kafka admin API shows it: what metric series
// have to be matched to.
type BrokerInfo struct {
	ID int32
	// Host and Port are those of the advertised listener that metadata returned.
	Host string
	Port int32
	Rack string
	// Leading is the number of partitions the broker leads by metadata, nil when
	// unknown.
	Leading *int
	// Awaited is the number of partitions whose preferred leader the broker is and
	// which another one leads, nil when unknown.
	Awaited *int
	// Replicas is the number of partitions the broker holds a replica of by
	// metadata (ReplicaManager's PartitionCount), nil when unknown.
	Replicas *int
}
