-- Times are Unix milliseconds. Bodies are JSON unless said otherwise.
CREATE TABLE inbox (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    kind     TEXT NOT NULL,
    body     BLOB NOT NULL,
    received INTEGER NOT NULL
);
CREATE TABLE incident (
    id      TEXT PRIMARY KEY,
    cluster TEXT NOT NULL,
    phase   TEXT NOT NULL,
    opened  INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    body    BLOB NOT NULL
);
CREATE INDEX incident_phase ON incident (phase, changed);
CREATE TABLE occurrence (
    incident TEXT NOT NULL,
    number   INTEGER NOT NULL,
    started  INTEGER NOT NULL,
    ended    INTEGER NOT NULL DEFAULT 0,
    class    TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (incident, number)
);
-- Where an incident's messages are. Written by the outbox only.
CREATE TABLE thread (
    id         TEXT PRIMARY KEY,
    lane       TEXT NOT NULL,
    channel    TEXT NOT NULL,
    root_ts    TEXT NOT NULL DEFAULT '',
    details_ts TEXT NOT NULL DEFAULT '',
    roots      INTEGER NOT NULL DEFAULT 0,
    previous   TEXT NOT NULL DEFAULT '',
    reason     TEXT NOT NULL DEFAULT ''
);
CREATE TABLE outbox (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    lane    TEXT NOT NULL,
    thread  TEXT NOT NULL,
    kind    TEXT NOT NULL,
    body    BLOB NOT NULL,
    rev     INTEGER NOT NULL DEFAULT 0,
    created INTEGER NOT NULL,
    due     INTEGER NOT NULL,
    wanted  INTEGER NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0,
    intent  INTEGER NOT NULL DEFAULT 0,
    maybe   INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX outbox_lane ON outbox (lane, due, seq);
CREATE INDEX outbox_thread ON outbox (thread, kind, seq);
-- Diagnoses that are still to be made. A row stays until its result is in the
-- inbox, so a crash makes it again.
CREATE TABLE look (
    id       TEXT PRIMARY KEY,
    priority INTEGER NOT NULL,
    due      INTEGER NOT NULL,
    body     BLOB NOT NULL
);
-- body is gzipped JSON.
CREATE TABLE evidence (
    id        TEXT PRIMARY KEY,
    incident  TEXT NOT NULL,
    taken     INTEGER NOT NULL,
    diagnosis BLOB NOT NULL,
    body      BLOB NOT NULL
);
CREATE INDEX evidence_incident ON evidence (incident, taken);
-- Questions from Slack and their answers, for Share.
CREATE TABLE ask (
    id      TEXT PRIMARY KEY,
    "key"   TEXT NOT NULL,
    created INTEGER NOT NULL,
    body    BLOB NOT NULL
);
CREATE INDEX ask_key ON ask ("key", created);
-- Commands and clicks that were taken, by Slack's id.
CREATE TABLE seen (
    id TEXT PRIMARY KEY,
    at INTEGER NOT NULL
);
CREATE TABLE lease (
    name    TEXT PRIMARY KEY,
    holder  TEXT NOT NULL,
    expires INTEGER NOT NULL
);
