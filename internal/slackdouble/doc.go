// Package slackdouble stands in for Slack in tests and in the demo: Web API,
// response URLs and Socket Mode, with state in memory. It is strict: what Slack
// refuses, limits or punishes, it refuses, limits or punishes, and what Slack
// lets pass although a user would suffer from it goes into [Double.Audit].
//
// It shares no number with bot/slack. Limits are written down twice on purpose,
// so that one wrong number cannot pass twice.
//
// Faces: [Double] is an http.Handler for clients; [Double.Page] is a web page for
// people; the methods Command, Click, Mention and so on are what users do;
// Inject, Refresh, Drop, Freeze are what goes wrong; Messages, Thread, Journal and
// Wait are what a test looks at.
//
// Known not to be like Slack: blocks and elements that the bot does not use are
// refused as unknown; lengths are counted in code points; the sum of all text of
// a message is bounded by 10,000, where Slack has an undocumented limit above.
package slackdouble
