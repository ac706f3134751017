package lab

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
)

// fetchSession is the client's half of an incremental fetch session, as the Java
// FetchSessionHandler keeps it (KIP-227):
//
//	(0,0)     full fetch, please make a session
//	(id,0)    full fetch, close that session and make a new one
//	(id,n>0)  incremental: only what was added or forgotten since the last fetch
//
// An answer with session id 0 to a full fetch means "no slot": the next one is
// (0,0) again. Error 70 loses the session: (0,0). Any other error: (id,0).
type fetchSession struct {
	id, epoch int32
	held      []int32 // partitions the broker has in this session, sorted
}

// fetchPlan is one request in terms of partitions.
type fetchPlan struct {
	id, epoch   int32
	add, forget []int32
}

func (p fetchPlan) full() bool { return p.epoch == 0 }

// next plans the fetch of exactly the partitions in want (sorted).
func (s *fetchSession) next(want []int32) fetchPlan {
	p := fetchPlan{id: s.id, epoch: s.epoch}
	if p.full() {
		p.add = want
		return p
	}
	p.add = without(want, s.held)
	p.forget = without(s.held, want)
	return p
}

// answered takes the broker's answer to a plan that asked for want.
func (s *fetchSession) answered(code int16, id int32, want []int32) {
	switch {
	case code == kerr.FetchSessionIDNotFound.Code:
		*s = fetchSession{}
	case code != 0:
		s.epoch, s.held = 0, nil
	case id == 0:
		*s = fetchSession{}
	default:
		s.id, s.held = id, want
		s.epoch = nextEpoch(s.epoch)
	}
}

// broken is a transport error: the session may or may not live on.
func (s *fetchSession) broken() { s.epoch, s.held = 0, nil }

// nextEpoch wraps to 1: 0 and -1 have meanings of their own.
func nextEpoch(e int32) int32 {
	if e == 1<<31-1 {
		return 1
	}
	return e + 1
}

// without gives what is in a but not in b; both sorted.
func without(a, b []int32) []int32 {
	var out []int32
	for _, v := range a {
		if _, found := slices.BinarySearch(b, v); !found {
			out = append(out, v)
		}
	}
	return out
}
