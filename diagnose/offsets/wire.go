package offsets

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// wire reads the encodings that coordinators use in keys and values. The first
// error stays, and everything after it reads as zero.
type wire struct {
	b   []byte
	err error
}

var (
	errShort    = errors.New("it ends too early")
	errTrailing = errors.New("something follows its end")
	errLong     = errors.New("a list in it is too long to be true")
)

// maxList bounds the lists of one value: a group subscribes to and holds far
// fewer topics, and a list of empty strings must not cost sixteen times its size.
const maxList = 100_000

// take returns the next n bytes of the input itself.
func (w *wire) take(n int) []byte {
	if w.err == nil && (n < 0 || n > len(w.b)) {
		w.err = errShort
	}
	if w.err != nil {
		return nil
	}
	out := w.b[:n]
	w.b = w.b[n:]
	return out
}

func (w *wire) int8() int8 {
	if b := w.take(1); b != nil {
		return int8(b[0])
	}
	return 0
}

func (w *wire) int16() int16 {
	if b := w.take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (w *wire) int32() int32 {
	if b := w.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (w *wire) int64() int64 {
	if b := w.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (w *wire) uvarint() uint64 {
	if w.err != nil {
		return 0
	}
	v, n := binary.Uvarint(w.b)
	if n <= 0 {
		w.err = errShort
		return 0
	}
	w.b = w.b[n:]
	return v
}

// string16 is the string of keys, which are never compact.
func (w *wire) string16() string { return string(w.take(int(w.int16()))) }

// length reads a compact length: 0 is null. What it counts takes at least one
// byte each, so a length above the rest is false, and nothing is allocated for
// it.
func (w *wire) length() (n int, null bool) {
	v := w.uvarint()
	switch {
	case w.err != nil, v == 0:
		return 0, true
	case v-1 > uint64(len(w.b)):
		w.err = errShort
		return 0, true
	}
	return int(v - 1), false
}

// list is the length of a list of anything but numbers.
func (w *wire) list() int {
	n, _ := w.length()
	if n > maxList {
		w.err = errLong
		return 0
	}
	return n
}

// text is a compact string; null reads as empty.
func (w *wire) text() string {
	n, _ := w.length()
	return string(w.take(n))
}

func (w *wire) texts() []string {
	n := w.list()
	var out []string
	for i := 0; i < n && w.err == nil; i++ {
		out = append(out, w.text())
	}
	return out
}

func (w *wire) ints() []int32 {
	n, _ := w.length()
	if 4*n > len(w.b) {
		w.err = errors.Join(w.err, errShort)
	}
	if w.err != nil || n == 0 {
		return nil
	}
	out := make([]int32, n)
	for i := range out {
		out[i] = w.int32()
	}
	return out
}

// tags reads tagged fields and hands the known ones to read; the others are
// skipped, as the format demands.
func (w *wire) tags(read func(tag uint64, field *wire)) {
	n := w.uvarint()
	for i := uint64(0); i < n && w.err == nil; i++ {
		tag, size := w.uvarint(), w.uvarint()
		if size > uint64(len(w.b)) {
			w.err = errors.Join(w.err, errShort)
			return
		}
		field := &wire{b: w.take(int(size)), err: w.err}
		if read != nil {
			read(tag, field)
		}
		w.err = field.err
	}
}

// end says what went wrong, if anything did.
func (w *wire) end(what string) error {
	if w.err == nil && len(w.b) > 0 {
		w.err = errTrailing
	}
	if w.err != nil {
		return fmt.Errorf("decoding %s: %w", what, w.err)
	}
	return nil
}
