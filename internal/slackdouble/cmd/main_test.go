package main

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kafka-oncall/kafka-oncall/internal/slackdouble"
)

func TestListsOfTheControlFaceAreNeverNull(t *testing.T) {
	s, err := slackdouble.Start("127.0.0.1:0", slackdouble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	face := control(s)
	for _, what := range []string{"messages", "thread", "private", "audit"} {
		r := httptest.NewRequest("POST", "/control/"+what, strings.NewReader(`{"User":"`+slackdouble.DefaultUser+`","Channel":"`+slackdouble.DefaultChannel+`"}`))
		r.SetPathValue("what", what)
		w := httptest.NewRecorder()
		face(w, r)
		if got := strings.TrimSpace(w.Body.String()); got != "[]" {
			t.Errorf("%s of a new double = %s, want []", what, got)
		}
	}
}
