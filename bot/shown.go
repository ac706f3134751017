package bot

import (
	"crypto/sha256"
	"encoding/json"
	"sync"

	"github.com/kafka-oncall/kafka-oncall/bot/slack"
)

// shown remembers what was last written into each message, as a hash, so that an
// edit that changes nothing is not sent: edits are few in Slack (about 50 a
// minute for a workspace). After a restart each message may be edited once for
// nothing.
type shown struct {
	mu   sync.Mutex
	last map[string][sha256.Size]byte
}

func newShown() *shown { return &shown{last: map[string][sha256.Size]byte{}} }

// same reports whether an edit would change nothing.
func (m *shown) same(p slack.Post) bool {
	if p.UpdateTS == "" {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	last, known := m.last[p.Channel+" "+p.UpdateTS]
	return known && last == hashed(p)
}

// put remembers an edit that Slack has taken.
func (m *shown) put(p slack.Post) {
	if p.UpdateTS == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last[p.Channel+" "+p.UpdateTS] = hashed(p)
}

// forget is called now and then, so that the memory does not grow for ever.
func (m *shown) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.last)
}

func hashed(p slack.Post) [sha256.Size]byte {
	body, err := json.Marshal(p.Message)
	if err != nil {
		return [sha256.Size]byte{}
	}
	return sha256.Sum256(body)
}
