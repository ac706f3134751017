package playbooks

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kafka-oncall/kafka-oncall/internal/strictyaml"
)

//go:embed shared/slots.yaml
var sharedFile []byte

// calculations are the values that several playbooks work out alike.
type calculations struct {
	// SlotsForDemand sizes the session cache for consumers and replica fetchers,
	// SlotsForConnections for connections where the former could not be counted.
	SlotsForDemand      []Compute `yaml:"slots-for-demand"`
	SlotsForConnections []Compute `yaml:"slots-for-connections"`
}

// shared reads the calculations anew for each step: steps own their values.
func shared() (map[string][]Compute, error) {
	var c calculations
	if _, ps := strictyaml.Decode("shared/slots.yaml", sharedFile, &c); len(ps) > 0 {
		return nil, Problems(ps)
	}
	return map[string][]Compute{"slots-for-demand": c.SlotsForDemand, "slots-for-connections": c.SlotsForConnections}, nil
}

// share gives a step the values of the calculation that it uses.
func (s *StepDef) share() error {
	if s.Uses == "" {
		return nil
	}
	all, err := shared()
	if err != nil {
		return fmt.Errorf("read the shared calculations: %w", err)
	}
	values, known := all[s.Uses]
	switch {
	case !known:
		return fmt.Errorf("%q is not a shared calculation; there are %s", s.Uses, strings.Join(slices.Sorted(maps.Keys(all)), ", "))
	case len(s.Compute) > 0:
		return fmt.Errorf("a step has uses or compute, not both")
	}
	s.Compute = values
	return nil
}
