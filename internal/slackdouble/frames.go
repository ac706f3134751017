package slackdouble

import (
	"bufio"
	"encoding/binary"
	"net"
	"net/http"
)

// frameWatch looks at what a client writes on a WebSocket and reports data that
// comes in more than one frame: Slack ignores such acknowledgements, and a
// WebSocket library hides how they came.
type frameWatch struct {
	net.Conn
	report func()
	header []byte // of the frame being read
	skip   uint64 // payload still to come
}

// Read implements net.Conn.
func (f *frameWatch) Read(p []byte) (int, error) {
	n, err := f.Conn.Read(p)
	f.watch(p[:n])
	return n, err
}

func (f *frameWatch) watch(p []byte) {
	for len(p) > 0 {
		if f.skip > 0 {
			n := min(uint64(len(p)), f.skip)
			f.skip -= n
			p = p[n:]
			continue
		}
		f.header, p = append(f.header, p[0]), p[1:]
		if size, complete := headerOf(f.header); complete {
			if first := f.header[0]; first&0x80 == 0 || first&0x0f == 0 {
				f.report()
			}
			f.header, f.skip = nil, size
		}
	}
}

// headerOf says how long the payload is, once the header is complete: two bytes,
// the extended length, and the mask that clients must use.
func headerOf(h []byte) (payload uint64, complete bool) {
	if len(h) < 2 {
		return 0, false
	}
	size, extended := uint64(h[1]&0x7f), 0
	switch size {
	case 126:
		extended = 2
	case 127:
		extended = 8
	}
	mask := 0
	if h[1]&0x80 != 0 {
		mask = 4
	}
	if len(h) < 2+extended+mask {
		return 0, false
	}
	switch extended {
	case 2:
		size = uint64(binary.BigEndian.Uint16(h[2:]))
	case 8:
		size = binary.BigEndian.Uint64(h[2:])
	}
	return size, true
}

// watched hands out a watched connection when it is taken over.
type watched struct {
	http.ResponseWriter
	report func()
}

// Hijack implements http.Hijacker.
func (w watched) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	return &frameWatch{Conn: c, report: w.report}, rw, nil
}
