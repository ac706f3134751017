package lint

import (
	_ "embed" // keys.tsv
	"slices"
	"strings"
	"sync"
)

//go:embed keys.tsv
var keysTSV string

// key is one configuration key of one role, as its own software defines it.
type key struct {
	role, name string
	// kind is int, long, boolean, string, list, class, password, …
	kind string
	// value is the newest default; empty when there is none or it is long.
	value string
	// bounds is "0..", "0..100", "a,b" or empty.
	bounds string
	// first and last are the oldest and newest of the examined versions that
	// have it; the oldest examined means "or older".
	first, last Version
	// mark is "deprecated", "alias of …" or empty.
	mark string
}

// oldest and newest are the ends of what was examined.
var oldest, newest = Version{2, 4}, Version{4, 4}

// Newest is the newest version that the checks know.
func Newest() Version { return newest }

// examined are the versions that keys.tsv was made from.
var examined = []Version{{2, 4}, {2, 8}, {3, 0}, {3, 3}, {3, 6}, {3, 7}, {3, 8}, {3, 9}, {4, 0}, {4, 2}, {4, 4}}

// after is the next examined version.
func after(v Version) Version {
	if i := slices.Index(examined, v); i >= 0 && i+1 < len(examined) {
		return examined[i+1]
	}
	return newest
}

// keyTable finds keys by role and name.
var keyTable = sync.OnceValue(func() map[string]map[string]key {
	out := map[string]map[string]key{}
	for line := range strings.Lines(keysTSV) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 8 {
			continue
		}
		k := key{role: f[0], name: f[1], kind: f[2], value: f[3], bounds: f[4], mark: f[7]}
		k.first, _ = ParseVersion(f[5])
		k.last, _ = ParseVersion(f[6])
		if out[k.role] == nil {
			out[k.role] = map[string]key{}
		}
		out[k.role][k.name] = k
	}
	return out
})

// find looks a key up in roles, in their order.
func find(roles []string, name string) (key, bool) {
	for _, r := range roles {
		if k, ok := keyTable()[r][name]; ok {
			return k, true
		}
	}
	return key{}, false
}

// names lists the keys of roles.
func names(roles []string) []string {
	var out []string
	for _, r := range roles {
		for n := range keyTable()[r] {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
