package bot

import (
	"context"
	"time"

	"github.com/kafka-oncall/kafka-oncall/bot/incident"
)

// withheld is how long a root stays back while its incident is being absorbed.
// It only matters when the commit that absorbs it never happens.
const withheld = 30 * time.Second

// absorb takes incidents in that a fresh verdict explains and that nobody has
// seen: their root still waits for its own verdict. The root is withheld first,
// so that it cannot go out meanwhile.
func (b *batch) absorb(ctx context.Context, st incident.State) {
	for _, o := range b.s.book.All() {
		if now, ok := b.incident(o.ID); ok {
			o = now
		}
		young := b.now.Sub(o.Opened) <= 2*b.s.cfg.FirstVerdict
		if !young || !st.Absorbs(o, b.s.cfg.Incident, b.now) {
			continue
		}
		if t, ok := b.state[o.ID]; ok && t.open {
			// Opened in this very batch: there is no root to withhold yet.
			st = b.swallow(st, o)
			continue
		}
		held, err := b.s.store.Withhold(ctx, o.ID, b.now.Add(withheld))
		if err != nil {
			b.s.deps.Log.Warn("an incident could not be absorbed", "incident_id", o.ID, "into", st.ID, "error", err)
		}
		if held {
			st = b.swallow(st, o)
		}
	}
}

func (b *batch) swallow(st, o incident.State) incident.State {
	into, closed, effects := b.s.cfg.Incident.Absorb(st, o, b.now)
	t := b.touch(into)
	b.s.book.Put(closed)
	b.s.book.Put(into)
	for _, f := range effects {
		b.effect(t, f)
	}
	gone := b.touch(closed)
	gone.open, gone.edit, gone.details, gone.says, gone.absorbed = false, false, false, nil, true
	b.after = append(b.after, func() {
		b.s.deps.Log.Info("incident absorbed before it was posted", "incident_id", closed.ID, "into", into.ID)
	})
	for id, a := range b.s.asking {
		if a.Incident == closed.ID {
			moved := *a
			moved.Incident = into.ID
			b.asks[id], b.s.asking[id] = &moved, &moved
		}
	}
	return into
}
