"""The lab's librdkafka consumers, with the options, commands and events of Client.java.

One process holds one or more consumers, each in a thread of its own. librdkafka
heartbeats from its own threads, so a stalled Python thread does not poll, and that is all.
"""
import json
import sys
import threading
import time

from confluent_kafka import Consumer, KafkaException

MEMBERS = {}
OUT = threading.Lock()
# Settings of the Java client that librdkafka does not have.
JAVA_ONLY = {"max.poll.records", "internal.leave.group.on.close"}


def say(event, member=None, **more):
    line = {"t": int(time.time() * 1000), "event": event}
    if member is not None:
        line.update(group=member.group, client_id=member.client_id)
    line.update(more)
    with OUT:
        print(json.dumps(line), flush=True)


class Member(threading.Thread):
    def __init__(self, base, topic, group, client_id):
        super().__init__(name="member-" + client_id)
        self.group, self.client_id, self.topic = group, client_id, topic
        self.done, self.stall, self.slow, self.block = False, 0, 0, 0
        config = dict(base)
        config.update({"group.id": group, "client.id": client_id})
        config["error_cb"] = lambda e: say("error", self, text=str(e))
        self.consumer = Consumer(config)

    def run(self):
        self.consumer.subscribe([self.topic], on_assign=self.assigned, on_revoke=self.revoked, on_lost=self.lost)
        say("started", self)
        while not self.done:
            try:
                self.once()
            except KafkaException as e:
                say("failed", self, text=str(e))
        self.consumer.close()
        say("closed", self)

    def once(self):
        message = self.consumer.poll(0.5)
        if message is not None and message.error():
            say("error", self, text=str(message.error()))
        time.sleep(self.slow / 1000)
        millis, self.stall = self.stall, 0
        if millis:
            say("stall", self, ms=millis)
            time.sleep(millis / 1000)
            say("stall_over", self)

    def detail(self, partitions):
        return {"member_id": self.consumer.memberid() or "", "partitions": [p.partition for p in partitions]}

    def assigned(self, _, partitions):
        say("assigned", self, **self.detail(partitions))

    def lost(self, _, partitions):
        say("lost", self, **self.detail(partitions))

    def revoked(self, _, partitions):
        say("revoked", self, **self.detail(partitions))
        millis = self.block if partitions else 0
        if millis:
            self.block = 0
            say("block", self, ms=millis)
            time.sleep(millis / 1000)
            say("block_over", self)


def options(args):
    base, topic, members = {}, None, []
    for name, value in zip(args[::2], args[1::2]):
        if name == "--topic":
            topic = value
        elif name == "--member":
            members.append(value)
        elif name == "--prop":
            key, _, v = value.partition("=")
            if key not in JAVA_ONLY:
                base[key] = v
        else:
            raise SystemExit("client.py: unknown option " + name)
    return base, topic, members


def command(words):
    member = MEMBERS.get(words[1]) if len(words) > 1 else None
    if member is None:
        say("error", text="no member for: " + " ".join(words))
    elif words[0] in ("stall", "slow", "block"):
        setattr(member, words[0], int(words[2]))
    elif words[0] == "close":
        member.done = True


def main():
    base, topic, members = options(sys.argv[1:])
    for m in members:
        group, _, client_id = m.rpartition("/")
        MEMBERS[client_id] = Member(base, topic, group, client_id)
    for m in MEMBERS.values():
        m.start()
    for line in sys.stdin:
        words = line.split()
        if not words:
            continue
        if words[0] == "quit":
            break
        command(words)
    for m in MEMBERS.values():
        m.done = True
    for m in MEMBERS.values():
        m.join(20)
    say("ended")


main()
