// Slack's own clients against the double: if they cannot tell it from Slack,
// another client cannot either. Started by the script run, which names the double's program
// in DOUBLE.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import bolt from "@slack/bolt";
import { SocketModeClient } from "@slack/socket-mode";
import { WebClient, LogLevel } from "@slack/web-api";

let double;
let at;

before(async () => {
  double = spawn(process.env.DOUBLE, [], { stdio: ["pipe", "pipe", "inherit"] });
  const [line] = await new Promise((ok) => createInterface(double.stdout).once("line", (l) => ok([l])));
  at = JSON.parse(line);
});

after(() => double.stdin.end());

async function control(what, order = {}) {
  const answer = await fetch(at.control + what, { method: "POST", body: JSON.stringify(order) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${what}: ${text}`);
  return JSON.parse(text);
}

const quiet = { unfurl_links: false, unfurl_media: false };
const actions = (id, label) => [
  { type: "section", text: { type: "mrkdwn", text: "*kafka-prod* · broker 3" } },
  { type: "actions", elements: [{ type: "button", action_id: id, value: "v1", text: { type: "plain_text", text: label } }] },
];
const web = () => new WebClient(at.bot_token, { slackApiUrl: at.api, logLevel: LogLevel.ERROR });
const who = () => ({ User: at.user, Channel: at.channel });

test("web-api: post, reply, edit, read", async () => {
  const client = web();
  const me = await client.auth.test();
  assert.equal(me.ok, true);
  assert.ok(me.bot_id);

  const metadata = { event_type: "suite", event_payload: { seq: 7 } };
  const root = await client.chat.postMessage({ channel: at.channel, text: "root", blocks: actions("go", "Go"), metadata, ...quiet });
  assert.equal(root.channel, at.channel);
  assert.equal(root.message.blocks.length, 2);
  assert.ok(root.message.blocks[1].block_id);

  // A second post within the second is limited; the client waits as told.
  const reply = await client.chat.postMessage({ channel: at.channel, text: "reply", thread_ts: root.ts, ...quiet });
  assert.equal(reply.message.thread_ts, root.ts);

  const edit = await client.chat.update({ channel: at.channel, ts: root.ts, text: "edited", blocks: actions("stop", "Stop") });
  assert.equal(edit.ts, root.ts);
  assert.equal(edit.text, "edited");

  const thread = await client.conversations.replies({ channel: at.channel, ts: root.ts, include_all_metadata: true });
  assert.deepEqual(thread.messages.map((m) => m.text), ["edited", "reply"]);
  assert.equal(thread.messages[0].metadata.event_payload.seq, 7);
  const history = await client.conversations.history({ channel: at.channel, limit: 10 });
  assert.equal(history.messages[0].reply_count, 1);
  assert.equal(history.messages[0].metadata, undefined);

  const link = await client.chat.getPermalink({ channel: at.channel, message_ts: root.ts });
  assert.match(link.permalink, /archives/);
  const joined = await client.conversations.join({ channel: at.channel });
  assert.equal(joined.warning, "already_in_channel");
  const hidden = await client.chat.postEphemeral({ channel: at.channel, user: at.user, text: "psst" });
  assert.ok(hidden.message_ts);
  await client.chat.delete({ channel: at.channel, ts: reply.ts });
});

test("web-api: refusals come as errors with remarks", async () => {
  const client = web();
  const refused = (word, call) => assert.rejects(call, (e) => e.code === "slack_webapi_platform_error" && e.data.error === word);
  await refused("channel_not_found", client.conversations.history({ channel: "C0NOWHERE" }));
  await refused("message_not_found", client.chat.update({ channel: at.channel, ts: "1.2", text: "x" }));
  await refused("missing_scope", client.conversations.info({ channel: at.channel }));
  await refused("unknown_method", client.apiCall("chat.shout"));
  const long = [{ type: "header", text: { type: "plain_text", text: "x".repeat(151) } }];
  await assert.rejects(client.chat.update({ channel: at.channel, ts: "1.2", text: "x", blocks: long }), /message_not_found/);
  await new Promise((ok) => setTimeout(ok, 1100));
  await assert.rejects(client.chat.postMessage({ channel: at.channel, text: "x", blocks: long, ...quiet }), (e) => {
    assert.equal(e.data.error, "invalid_blocks");
    assert.match(e.data.response_metadata.messages[0], /json-pointer:\/blocks\/0/);
    return true;
  });
  await assert.rejects(new WebClient("xoxb-wrong", { slackApiUrl: at.api, logLevel: LogLevel.ERROR }).auth.test(), /invalid_auth/);
});

test("socket-mode: commands, clicks and mentions", async () => {
  const socket = new SocketModeClient({ appToken: at.app_token, clientOptions: { slackApiUrl: at.api }, logLevel: LogLevel.ERROR });
  const got = [];
  socket.on("slash_commands", async ({ ack, body }) => { await ack(); got.push(body.text); });
  socket.on("interactive", async ({ ack, body }) => { await ack(); got.push(body.actions[0].action_id); });
  socket.on("app_mention", async ({ ack, event }) => { await ack(); got.push(event.text); });
  await socket.start();
  const root = (await control("messages", who()))[0];
  for (const [what, order] of [
    ["command", { ...who(), Text: "/kafka-diagnose group a<b" }],
    ["click", { ...who(), TS: root.TS, Button: "Stop" }],
    ["mention", { ...who(), Text: "status" }],
  ]) {
    const { outcome, millis } = await control(what, order);
    assert.equal(outcome, "acknowledged", what);
    assert.ok(millis < 1000, `${what} took ${millis} ms`);
  }
  assert.deepEqual(got, ["group a&lt;b", "stop", "<@U0BOT00001> status"]);
  await assert.rejects(control("click", { ...who(), TS: root.TS, Button: "Go" }), /shows no button/);
  await socket.disconnect();
});

test("bolt: the same, with answers through the response URL", async () => {
  const app = new bolt.App({ token: at.bot_token, appToken: at.app_token, socketMode: true, clientOptions: { slackApiUrl: at.api }, logLevel: LogLevel.ERROR });
  const answered = [];
  app.command("/kafka-diagnose", async ({ ack, respond, command }) => {
    await ack();
    await respond({ text: `you said ${command.text}`, blocks: actions("share", "Share"), ...quiet });
    answered.push("command");
  });
  app.action("share", async ({ ack, respond, body }) => {
    await ack();
    assert.equal(body.container.is_ephemeral, true);
    await respond({ text: "shared", response_type: "in_channel", replace_original: false, ...quiet });
    answered.push("action");
  });
  app.event("app_mention", async ({ event }) => { answered.push(event.type); });
  await app.start();
  const until = async (n) => { while (answered.length < n) await new Promise((ok) => setTimeout(ok, 20)); };
  assert.equal((await control("command", { ...who(), Text: "/kafka-diagnose list" })).outcome, "acknowledged");
  await until(1);
  const mine = (await control("private", who())).at(-1);
  assert.equal(mine.Text, "you said list");
  assert.equal((await control("click", { ...who(), TS: mine.TS, Button: "share" })).outcome, "acknowledged");
  await until(2);
  assert.equal((await control("messages", who())).at(-1).Text, "shared");
  assert.equal((await control("mention", { ...who(), Text: "hello" })).outcome, "acknowledged");
  await until(3);
  assert.deepEqual(answered, ["command", "action", "app_mention"]);
  await app.stop();
});

test("the double has nothing to complain about", async () => {
  const complaints = await control("audit");
  assert.deepEqual(complaints, []);
});
