package diagnose

import (
	"encoding/json"
	"fmt"
	"time"
)

// MarshalJSON writes [unix milliseconds, value].
func (s Sample) MarshalJSON() ([]byte, error) {
	return json.Marshal([2]any{s.T.UnixMilli(), s.V})
}

// UnmarshalJSON reads [unix milliseconds, value].
func (s *Sample) UnmarshalJSON(b []byte) error {
	var pair [2]float64
	if err := json.Unmarshal(b, &pair); err != nil {
		return fmt.Errorf("sample is not [unix ms, value]: %w", err)
	}
	s.T, s.V = time.UnixMilli(int64(pair[0])).UTC(), pair[1]
	return nil
}
