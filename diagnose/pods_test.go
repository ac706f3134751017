package diagnose

import (
	"slices"
	"testing"
	"time"
)

func TestPodNames(t *testing.T) {
	for text, want := range map[string][]string{
		"orders-0":                          {"orders-0"},
		"orders-7f8b9c6d5-x2x9z-consumer-1": {"orders-7f8b9c6d5-x2x9z-consumer-1", "orders-7f8b9c6d5-x2x9z"},
		"shop/orders-0":                     {"orders-0"},
		"billing@orders-12.orders.shop.svc": {"orders-12"},
		"orders":                            nil,
		"":                                  nil,
		"-0":                                nil,
		"ORDERS_0":                          nil,
		"rdkafka":                           nil,
		"consumer-orders-1":                 {"consumer-orders-1"},
	} {
		if got := PodNames(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := PodNames(string(make([]byte, 5000)), "orders-0"); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

func TestMemberAddress(t *testing.T) {
	for host, want := range map[string]string{
		"/10.2.7.31": "10.2.7.31", "10.2.7.31": "10.2.7.31", "orders-0/10.2.7.31": "10.2.7.31", "/2001:db8:0:0:0:0:0:1f": "2001:db8::1f",
		"/0:0:0:0:0:ffff:a02:71f": "10.2.7.31", "/fe80:0:0:0:0:0:0:1%eth0": "fe80::1", "": "", "orders-0": "orders-0",
	} {
		if got := MemberAddress(host); got != want {
			t.Errorf("%q: %q, want %q", host, got, want)
		}
	}
}

// A member is joined to a pod by its address, else by a name that it carries and
// that is the pod's by no accident.
func TestPickPod(t *testing.T) {
	seen := func(p Pod) Pod {
		p.FirstSeen, p.LastSeen = ago(20*time.Minute), t0
		return p
	}
	hashed := seen(Pod{Namespace: "shop", Name: "orders-7f8b9c6d5-x2x9z", IP: "10.9.0.1", HostIP: "10.2.0.3"})
	ordinal := seen(Pod{Namespace: "shop", Name: "orders-0", IP: "10.9.0.2", HostIP: "10.2.0.3"})
	for _, c := range []struct {
		name string
		m    RecordMember
		pods []Pod
		want string
	}{
		{"by address", RecordMember{Host: "/10.9.0.2", ClientID: "orders-7f8b9c6d5-x2x9z"}, []Pod{hashed, ordinal}, "orders-0"},
		{"by a hash in the client id", RecordMember{Host: "/172.16.0.1", ClientID: "orders-7f8b9c6d5-x2x9z-2"}, []Pod{hashed, ordinal}, "orders-7f8b9c6d5-x2x9z by name"},
		{"an ordinal may be the consumer's", RecordMember{Host: "/172.16.0.1", ClientID: "orders-0"}, []Pod{ordinal}, ""},
		{"an ordinal on its node", RecordMember{Host: "/10.2.0.3", ClientID: "orders-0"}, []Pod{ordinal}, "orders-0 by name"},
		{"an ordinal as instance id", RecordMember{Host: "/172.16.0.1", InstanceID: "orders-0", ClientID: "consumer-orders-1"}, []Pod{ordinal}, "orders-0 by name"},
		{"in two namespaces", RecordMember{Host: "/172.16.0.1", InstanceID: "orders-0"}, []Pod{ordinal, seen(Pod{Namespace: "test", Name: "orders-0", IP: "10.9.0.3"})}, ""},
		{"two with the address", RecordMember{Host: "/10.9.0.2", InstanceID: "orders-0"}, []Pod{ordinal, seen(Pod{Namespace: "test", Name: "x-0", IP: "10.9.0.2"})}, ""},
		{"gone before", RecordMember{Host: "/10.9.0.1"}, []Pod{{Name: "old", IP: "10.9.0.1", FirstSeen: ago(2 * time.Hour), LastSeen: ago(time.Hour)}}, ""},
	} {
		l := &loss{m: c.m, by: ago(time.Minute), after: ago(2 * time.Minute), s: &groupStory{f: &facts{e: &Evidence{PodList: c.pods}}}}
		got := ""
		if i, byName := l.pickPod(); i >= 0 {
			if got = c.pods[i].Name; byName {
				got += " by name"
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
