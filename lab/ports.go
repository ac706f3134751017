package lab

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// freePorts finds n loopback ports nobody listens on. They lie below Linux's
// ephemeral range (32768 and up): a port that a broker gives up while it is
// stopped must not be taken by some client's outgoing connection meanwhile.
func freePorts(n int) ([]int, error) {
	var ports []int
	var held []net.Listener
	defer func() {
		for _, l := range held {
			_ = l.Close()
		}
	}()
	for tries := 0; len(ports) < n; tries++ {
		if tries > 50*n {
			return nil, errors.New("finding free loopback ports: none left between 20000 and 32000")
		}
		port := 20000 + rand.IntN(12000)
		l, err := net.Listen("tcp4", loopback(port))
		if err != nil {
			continue
		}
		held = append(held, l)
		ports = append(ports, port)
	}
	return ports, nil
}

func loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
