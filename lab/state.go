package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
)

// Broker is one node: addresses as host:port, and its process (PID 0 while stopped).
type Broker struct {
	ID      int    `json:"id"`
	Kafka   string `json:"kafka"`
	Metrics string `json:"metrics"`
	Proc
}

// Info is what `kafka-lab up` prints.
type Info struct {
	Name         string   `json:"name"`
	Version      string   `json:"version"`
	Bootstrap    string   `json:"bootstrap"`
	Prometheus   string   `json:"prometheus"`
	Alertmanager string   `json:"alertmanager"`
	Slots        int      `json:"slots"`
	Capacity     int      `json:"capacity"`
	Dir          string   `json:"dir"`
	Brokers      []Broker `json:"brokers"`
}

// State is Info and what is needed to run scenarios and to end everything later.
type State struct {
	Info
	Controller string          `json:"controller"`
	Cache      string          `json:"cache"`
	ClusterID  string          `json:"cluster_id"`
	HeapMB     int             `json:"heap_mb"`
	Others     map[string]Proc `json:"others"` // prometheus, alertmanager and running clients
}

func (s *State) broker(id int) *Broker {
	for i := range s.Brokers {
		if s.Brokers[i].ID == id {
			return &s.Brokers[i]
		}
	}
	return nil
}

func (s *State) brokerDir(id int) string { return filepath.Join(s.Dir, fmt.Sprintf("broker-%d", id)) }
func (s *State) targetsDir() string      { return filepath.Join(s.Dir, "targets") }

// procs lists every process of the lab: clients and monitoring first, brokers last.
func (s *State) procs() []Proc {
	var names []string
	for n := range s.Others {
		names = append(names, n)
	}
	sort.Strings(names)
	var out []Proc
	for _, n := range names {
		out = append(out, s.Others[n])
	}
	for i := len(s.Brokers) - 1; i >= 0; i-- {
		out = append(out, s.Brokers[i].Proc)
	}
	return out
}

func statePath(dir string) string { return filepath.Join(dir, "state.json") }

// save writes the state by rename, so that a reader never sees half of it.
func (s *State) save() error {
	b, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return fmt.Errorf("writing the lab's state: %w", err)
	}
	tmp := statePath(s.Dir) + ".new"
	if err := os.WriteFile(tmp, append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing the lab's state: %w", err)
	}
	if err := os.Rename(tmp, statePath(s.Dir)); err != nil {
		return fmt.Errorf("writing the lab's state: %w", err)
	}
	return nil
}

// loadState reads the state of lab name. A missing one is fs.ErrNotExist.
func loadState(dir, name string) (*State, error) {
	run, err := runDir(dir, name)
	if err != nil {
		return nil, err
	}
	s, err := readState(statePath(run))
	if err != nil {
		return nil, fmt.Errorf("lab %s: %w", name, err)
	}
	return s, nil
}

func readState(path string) (*State, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the lab's state: %w", err)
	}
	s := State{Others: map[string]Proc{}}
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return &s, nil
}

// running says whether any process of the lab is alive.
func (s *State) running() bool { return slices.ContainsFunc(s.procs(), Proc.Alive) }

func runDir(dir, name string) (string, error) {
	if !nameShape.MatchString(name) {
		return "", fmt.Errorf("name %q: want lower-case letters, digits and '-'", name)
	}
	abs, err := filepath.Abs(filepath.Join(dir, "run", name))
	if err != nil {
		return "", fmt.Errorf("resolving %s: %w", dir, err)
	}
	return abs, nil
}

// Names lists the labs that have state under dir.
func Names(dir string) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(dir, "run", "*", "state.json"))
	if err != nil {
		return nil, fmt.Errorf("listing labs: %w", err)
	}
	var names []string
	for _, f := range found {
		names = append(names, filepath.Base(filepath.Dir(f)))
	}
	sort.Strings(names)
	return names, nil
}

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
