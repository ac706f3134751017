package stage

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// shifted moves the moments inside a group record's value: a commit's own
// timestamp and the time of a group's last change of state. What does not
// decode passes as it is.
func shifted(key, value []byte, by time.Duration) []byte {
	if len(key) < 2 || key[0] != 0 {
		return value
	}
	switch key[1] {
	case 0, 1:
		v := kmsg.NewOffsetCommitValue()
		if v.ReadFrom(value) != nil {
			return value
		}
		v.CommitTimestamp += by.Milliseconds()
		if v.ExpireTimestamp > 0 {
			v.ExpireTimestamp += by.Milliseconds()
		}
		return v.AppendTo(nil)
	case 2:
		v := kmsg.NewGroupMetadataValue()
		if v.ReadFrom(value) != nil {
			return value
		}
		if v.CurrentStateTimestamp > 0 {
			v.CurrentStateTimestamp += by.Milliseconds()
		}
		return v.AppendTo(nil)
	}
	return value
}
