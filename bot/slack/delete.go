package slack

import "context"

// methodDelete is Tier 3, like chat.update.
const methodDelete = "chat.delete"

// Delete removes a message of the bot: a reply that Slack put into the channel,
// because its root is gone. A message that is gone already is ErrGone.
func (s *Sender) Delete(ctx context.Context, channel, ts string) error {
	if err := s.enter(ctx, methodDelete, "waiting to delete a message"); err != nil {
		return err
	}
	return s.call(ctx, methodDelete, "deleting a message in Slack", func() error {
		_, _, err := s.api.DeleteMessageContext(ctx, channel, ts)
		return err
	})
}
