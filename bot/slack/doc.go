// Package slack is the only package that knows Slack.
//
// In: commands and clicks over Socket Mode ([Socket]) are acknowledged at once
// and handed to a [Handler]. Render: a neutral playbooks.Message becomes Block
// Kit inside every limit, with all outside text inert. Out: [Sender] posts,
// edits and finds messages, rate-limited by token buckets.
package slack
