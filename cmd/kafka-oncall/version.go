package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// version is set by `make build`; empty = what the build information says.
var version string

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print version and revision",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(c.OutOrStdout(), versionLine())
			return err
		},
	}
}

// versionLine names the build: module version, revision, whether the tree had
// changes, the Go release and the evidence schema it writes.
func versionLine() string {
	name, revision, dirty := "(devel)", "unknown", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Version != "" {
			name = info.Main.Version
		}
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				revision = s.Value[:min(12, len(s.Value))]
			case s.Key == "vcs.modified" && s.Value == "true":
				dirty = ", with changes"
			}
		}
	}
	if version != "" {
		name = version
	}
	return fmt.Sprintf("kafka-oncall %s (revision %s%s, %s, evidence schema %d)", name, revision, dirty, runtime.Version(), diagnose.SchemaVersion)
}
