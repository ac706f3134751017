package lab

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
)

// confluentKafka is the Python binding that carries librdkafka (2.16.0 in it).
const confluentKafka = "confluent-kafka==2.16.0"

//go:embed client/client.py
var pythonSource []byte

// librdkafka makes sure that the cache holds confluent-kafka, and gives the start
// of the command line. pip's --target needs no virtual environment.
func (c *Cluster) librdkafka(ctx context.Context) (launch, error) {
	dir := filepath.Join(c.state.Cache, "librdkafka")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return launch{}, fmt.Errorf("making the cache for librdkafka: %w", err)
	}
	unlock, err := lockFile(ctx, filepath.Join(dir, "lock"))
	if err != nil {
		return launch{}, err
	}
	defer unlock()
	if !exists(filepath.Join(dir, "lib", "confluent_kafka")) {
		err := tool(ctx, dir, "python3", "-m", "pip", "install", "--quiet", "--target", filepath.Join(dir, "lib"), confluentKafka)
		if err != nil {
			return launch{}, fmt.Errorf("fetching %s with pip: %w", confluentKafka, err)
		}
	}
	script := filepath.Join(dir, "client.py")
	if err := os.WriteFile(script, pythonSource, 0o644); err != nil {
		return launch{}, fmt.Errorf("writing client.py: %w", err)
	}
	return launch{path: "python3", args: []string{script}, env: []string{"PYTHONPATH=" + filepath.Join(dir, "lib")}}, nil
}
