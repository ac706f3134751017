package diagnose

import (
	"io/fs"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

// The bars for the corpus and for what a verdict costs. Time is not one of them:
// machines differ, and BenchmarkClassify shows it (5 ms is the aim).
const (
	maxCorpusBytes = 15_000_000
	maxAllocBytes  = 2_000_000
)

// Whoever clones the project gets the corpus, so it stays small: pack evidence,
// and leave out runs that teach nothing.
func TestCorpusStaysSmall(t *testing.T) {
	var sum int64
	files := 0
	err := filepath.WalkDir(filepath.Join("testdata", "corpus"), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		sum += info.Size()
		files++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 || sum > maxCorpusBytes {
		t.Errorf("%d files with %d bytes, want at most %d", files, sum, maxCorpusBytes)
	}
}

// A bot that judges while a cluster burns shares a small pod: no case costs it
// more than 2 MB, the largest of each class included.
func TestClassifyAllocatesLittle(t *testing.T) {
	largest := largestCases(t)
	for _, c := range append(largest, corpus(t)...) {
		if n := allocated(func() { Classify(c.ev, DefaultLimits()) }); n > maxAllocBytes {
			t.Errorf("%s (%d bytes of evidence): Classify allocates %d bytes, want at most %d", c.name, c.size, n, maxAllocBytes)
		}
	}
}

// largestCases are those with the most evidence of each class among all, those
// that are only scored included.
func largestCases(t *testing.T) []corpusCase {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join("testdata", "corpus", "*", "*", "case.json"))
	if err != nil {
		t.Fatal(err)
	}
	type file struct {
		dir  string
		size int
	}
	largest := map[string]file{}
	for _, p := range dirs {
		dir := filepath.Dir(p)
		class := filepath.Dir(dir)
		if n := len(readEvidence(t, dir)); n > largest[class].size {
			largest[class] = file{dir, n}
		}
	}
	if len(largest) < 20 {
		t.Fatalf("%d classes", len(largest))
	}
	var out []corpusCase
	for _, class := range slices.Sorted(maps.Keys(largest)) {
		out = append(out, withEvidence(t, loadMeta(t, largest[class].dir)))
	}
	return out
}

// allocated is what a call takes from the heap, in bytes: the least of three, for
// the first fills what is kept between calls.
func allocated(call func()) uint64 {
	var least uint64
	for i := range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		call()
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; i == 0 || n < least {
			least = n
		}
	}
	return least
}
