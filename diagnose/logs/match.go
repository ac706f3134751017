package logs

// matcher finds which of a set of words occur in a text, in one pass and
// without regard to the case of ASCII letters (Aho–Corasick, as a table).
type matcher struct {
	class   [256]uint8
	classes int
	next    []int32
	// words holds, by state, the words that end there.
	words [][]int
}

// newMatcher builds the table. Words are in lower case.
func newMatcher(words []string) *matcher {
	m := &matcher{classes: 1}
	for _, w := range words {
		for i := range len(w) {
			if m.class[w[i]] == 0 {
				m.class[w[i]] = uint8(m.classes)
				m.classes++
			}
		}
	}
	for c := byte('A'); c <= 'Z'; c++ {
		m.class[c] = m.class[c+'a'-'A']
	}
	m.grow()
	for i, w := range words {
		m.add(w, i)
	}
	m.link()
	return m
}

func (m *matcher) grow() int32 {
	m.next = append(m.next, make([]int32, m.classes)...)
	m.words = append(m.words, nil)
	return int32(len(m.words) - 1)
}

func (m *matcher) add(w string, index int) {
	state := int32(0)
	for i := range len(w) {
		at := int(state)*m.classes + int(m.class[w[i]])
		if m.next[at] == 0 {
			m.next[at] = m.grow()
		}
		state = m.next[at]
	}
	m.words[state] = append(m.words[state], index)
}

// link fills the table: where a word cannot go on, the longest suffix that
// begins another word does.
func (m *matcher) link() {
	fail := make([]int32, len(m.words))
	var queue []int32
	for c := range m.classes {
		if s := m.next[c]; s != 0 {
			queue = append(queue, s)
		}
	}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		m.words[s] = append(m.words[s], m.words[fail[s]]...)
		for c := range m.classes {
			at, back := int(s)*m.classes+c, m.next[int(fail[s])*m.classes+c]
			if n := m.next[at]; n != 0 {
				fail[n] = back
				queue = append(queue, n)
			} else {
				m.next[at] = back
			}
		}
	}
}

// any reports whether a word occurs, find which do.
func (m *matcher) any(text []byte) bool {
	state := int32(0)
	for _, b := range text {
		state = m.next[int(state)*m.classes+int(m.class[b])]
		if m.words[state] != nil {
			return true
		}
	}
	return false
}

// find marks the words that occur, with the place where the first ends.
func (m *matcher) find(text string, ends map[int]int) {
	state := int32(0)
	for i := range len(text) {
		state = m.next[int(state)*m.classes+int(m.class[text[i]])]
		for _, w := range m.words[state] {
			if _, ok := ends[w]; !ok {
				ends[w] = i + 1
			}
		}
	}
}
