package bot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
)

// cleanups are undone last in, first out. A server that failed half-way to its
// start stops the same way as one that ran.
type cleanups struct {
	mu    sync.Mutex
	stack []cleanup
	log   *slog.Logger
}

type cleanup struct {
	name string
	do   func(context.Context) error
}

func (c *cleanups) add(name string, do func(context.Context) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stack = append(c.stack, cleanup{name, do})
}

// run undoes everything once. Each gets what is left of the context's time; one
// that fails does not stop the others.
func (c *cleanups) run(ctx context.Context) error {
	c.mu.Lock()
	stack := c.stack
	c.stack = nil
	c.mu.Unlock()
	var errs []error
	for i := len(stack) - 1; i >= 0; i-- {
		if err := stack[i].do(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stopping %s: %w", stack[i].name, err))
		}
		c.log.Debug("stopped", "part", stack[i].name)
	}
	return errors.Join(errs...)
}
