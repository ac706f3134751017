//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// shortRules writes the shipped rules with short windows, so that an alert
// resolves within a minute. The expressions stay as shipped.
func shortRules(dir string) (string, error) {
	short := strings.NewReplacer(
		"[5m]", "[45s]", "offset 5m", "offset 45s",
		"[10m]", "[45s]", "offset 10m", "offset 45s",
		"time() - kafka_oncall:broker_start:seconds < 600", "time() - kafka_oncall:broker_start:seconds < 60",
		"for: 5m", "for: 1s",
		// The lab's cache has 64 slots.
		">= 950", ">= 61", "for: 30m", "for: 1s",
	)
	var out strings.Builder
	out.WriteString("groups:\n")
	for _, name := range []string{"rules-brokers.yaml", "rules-groups.yaml", "rules-bot.yaml"} {
		b, err := os.ReadFile(filepath.Join("..", "deploy", "prometheus", name))
		if err != nil {
			return "", fmt.Errorf("reading the shipped rules: %w", err)
		}
		_, groups, ok := strings.Cut(string(b), "\ngroups:\n")
		if !ok {
			return "", fmt.Errorf("reading the shipped rules: %s has no groups", name)
		}
		out.WriteString(short.Replace(groups))
	}
	file := filepath.Join(dir, "rules.yaml")
	return file, os.WriteFile(file, []byte(out.String()), 0o644)
}
