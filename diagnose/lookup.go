package diagnose

import (
	"reflect"
	"strconv"
	"strings"
)

// Lookup resolves a citation's path and returns what stands there.
//
// A path is a chain of JSON field names and indexes. Brokers are found by id,
// groups and clients by name, other lists by position in [Evidence.Sorted]:
//
//	brokers[3].slots                     brokers[3].errors.fetch_session_id_not_found
//	groups[orders].history.records[2]    clients[c1].client.time_between_poll_max_ms
//	watcher.losses[0]                    cluster.sharded_cache
//
// A signal counts as found when it was asked for, with or without samples.
func (e Evidence) Lookup(path string) (any, bool) {
	e = e.Sorted()
	switch {
	case path == "":
		return nil, false
	case strings.HasPrefix(path, "brokers["):
		for i := range e.Brokers {
			if rest, ok := strings.CutPrefix(path, "brokers["+strconv.Itoa(int(e.Brokers[i].ID))+"]"); ok {
				return member(e.Brokers[i], e.Brokers[i].Signals, rest)
			}
		}
	case strings.HasPrefix(path, "groups["):
		// Names come from outside and may hold brackets and dots, so the known
		// names are tried, the longest match first.
		return e.lookupGroup(path)
	case strings.HasPrefix(path, "clients["):
		return e.lookupClient(path)
	case strings.HasPrefix(path, "pods["):
		for i := range e.PodList {
			if rest, ok := strings.CutPrefix(path, "pods["+strconv.Itoa(i)+"]"); ok {
				return member(e.PodList[i], e.PodList[i].Signals, rest)
			}
		}
	default:
		return walk(reflect.ValueOf(e), path)
	}
	return nil, false
}

func (e Evidence) lookupGroup(path string) (any, bool) {
	for _, g := range e.Groups {
		if rest, ok := strings.CutPrefix(path, groupPath(g.ID, "")); ok {
			if v, found := member(g, nil, rest); found {
				return v, true
			}
		}
	}
	return nil, false
}

func (e Evidence) lookupClient(path string) (any, bool) {
	for _, c := range e.Clients {
		if rest, ok := strings.CutPrefix(path, "clients["+c.ClientID+"]"); ok {
			if v, found := member(c, c.Signals, rest); found {
				return v, true
			}
		}
	}
	return nil, false
}

// member resolves the rest of a path below one item: a signal, or a field.
func member(item any, signals map[Signal]Metric, rest string) (any, bool) {
	if rest == "" {
		return item, true
	}
	rest, ok := strings.CutPrefix(rest, ".")
	if !ok {
		return nil, false
	}
	if m, found := signals[Signal(rest)]; found {
		return m, true
	}
	return walk(reflect.ValueOf(item), rest)
}

// walk follows field names and [position] through structs, maps with text keys
// and slices.
func walk(v reflect.Value, path string) (any, bool) {
	for path != "" {
		name, index, rest := cut(path)
		v = field(v, name)
		if !v.IsValid() {
			return nil, false
		}
		if index >= 0 {
			if v.Kind() != reflect.Slice || index >= v.Len() {
				return nil, false
			}
			v = v.Index(index)
		}
		if v.Kind() == reflect.Map && rest != "" {
			// Names of configs and labels hold dots: the rest is one key.
			v, rest = field(v, rest), ""
			if !v.IsValid() {
				return nil, false
			}
		}
		path = rest
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil, false
		}
		v = v.Elem()
	}
	return v.Interface(), true
}

// cut splits "records[2].members" into records, 2 and members; index is -1
// without brackets.
func cut(path string) (name string, index int, rest string) {
	name, rest, _ = strings.Cut(path, ".")
	before, inside, ok := strings.Cut(name, "[")
	if !ok {
		return name, -1, rest
	}
	n, err := strconv.Atoi(strings.TrimSuffix(inside, "]"))
	if err != nil || n < 0 {
		return "", -1, ""
	}
	return before, n, rest
}

// field finds a struct field by its JSON name, also in embedded structs, or a
// map's entry.
func field(v reflect.Value, name string) reflect.Value {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Map:
		if v.Type().Key().Kind() != reflect.String {
			return reflect.Value{}
		}
		return v.MapIndex(reflect.ValueOf(name).Convert(v.Type().Key()))
	case reflect.Struct:
		return structField(v, name)
	default:
		return reflect.Value{}
	}
}

func structField(v reflect.Value, name string) reflect.Value {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == name && name != "" {
			return v.Field(i)
		}
		if f.Anonymous && tag == "" {
			if got := structField(v.Field(i), name); got.IsValid() {
				return got
			}
		}
	}
	return reflect.Value{}
}
