// Package slack is the only package that knows Slack.
//
// In: commands, mentions and clicks over Socket Mode ([Socket]) are acknowledged
// at once, on the connection they came on, and then handed to a [Handler], once
// each. When Slack announces the end of a connection the next one is open before
// the old is left, so no command falls between. [ParseCommand] reads what was
// typed.
//
// Render (render.go): a neutral playbooks.Message becomes Block Kit inside every
// limit, with all outside text inert. It is pure; the goldens in testdata show
// what it makes.
//
// Out: [Sender] posts, edits and finds messages. It waits for its turn (a post a
// second and channel, about 50 edits a minute) and never calls a method that
// Slack told to wait. Its errors, in contract.go, say what a caller can do:
//
//   - [RetryError]: try again after After. If it is Ambiguous the message may be
//     there already: ask [Sender.Find] before posting again. Find's [ErrNoHistory]
//     says that it cannot know.
//   - [ErrGone], [ErrChannel], [ErrAuth], [ErrRefused]: trying again does not help.
//   - a [Posted] reply with Threaded false: the root is gone, and the reply landed
//     in the channel.
//
// [Responder] answers commands and clicks through their response URL, which works
// five times within 30 minutes; after that it says [ErrGone]. A command shows
// nothing to the person until it is answered, so a handler that needs longer than
// a moment says "looking" first and replaces that later.
//
// Unverified against the real Slack, and safe either way: what counts towards the
// limit of all blocks, whether lengths are code points or UTF-16 units, whether
// Slack still delivers on a connection that it asked to leave.
package slack
