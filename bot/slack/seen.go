package slack

import "sync"

// maxSeen is how many deliveries are remembered; Slack repeats within minutes.
const maxSeen = 4096

// seen remembers the last ids.
type seen struct {
	mu   sync.Mutex
	ids  map[string]bool
	ring []string
	next int
}

func newSeen(size int) *seen {
	return &seen{ids: make(map[string]bool, size), ring: make([]string, size)}
}

// first reports whether id comes for the first time, and remembers it.
func (s *seen) first(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ids[id] {
		return false
	}
	delete(s.ids, s.ring[s.next])
	s.ring[s.next] = id
	s.ids[id] = true
	s.next = (s.next + 1) % len(s.ring)
	return true
}
