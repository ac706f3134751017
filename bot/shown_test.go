package bot

import (
	"testing"

	"github.com/kafka-oncall/kafka-oncall/bot/slack"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

func TestAnEditThatChangesNothingIsKnown(t *testing.T) {
	m := newShown()
	edit := func(ts, text string) slack.Post {
		return slack.Post{Channel: "C1", UpdateTS: ts, Message: playbooks.Message{Text: text}}
	}
	if m.same(edit("1.1", "a")) {
		t.Error("nothing was shown yet")
	}
	m.put(edit("1.1", "a"))
	m.put(edit("", "a new message is no edit"))
	for _, c := range []struct {
		p    slack.Post
		want bool
	}{
		{edit("1.1", "a"), true}, {edit("1.1", "b"), false}, {edit("1.2", "a"), false}, {edit("", "a new message is no edit"), false},
	} {
		if got := m.same(c.p); got != c.want {
			t.Errorf("%s %q: same %v, want %v", c.p.UpdateTS, c.p.Message.Text, got, c.want)
		}
	}
	m.forget()
	if m.same(edit("1.1", "a")) {
		t.Error("it was forgotten")
	}
}
