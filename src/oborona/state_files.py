"""The names of all files, folders and sockets in the state folder, each with who writes it.

What the folders hold under names of their own (records, copies, spools) their writers tell. SQLite
keeps `-wal` and `-shm` beside each `.db`; a store that is set aside is renamed to
`NAME.damaged-TIME` or `NAME.foreign-TIME`.
"""

from __future__ import annotations

from typing import Final

# The site, and what its stores were begun with.
SECRET: Final = "secret"  # noqa: S105 - its name
"""The site's secret of 32 bytes: the first process that starts."""
SECRET_NOTE: Final = "secret.known"  # noqa: S105 - its name
"""Check value of the secret, also in `counters`: whoever makes the secret."""
BEGUN: Final = "begun"
"""Folder, a record of each store that was begun here: whoever begins or loses one."""
RESTORING: Final = "restoring"
"""Mark of a restore that has not ended: `oborona restore`."""
BEFORE_RESTORE: Final = "before-restore-"
"""Folders that begin so, what was here before a restore: `oborona restore`."""

SITE_LINK: Final = "site.json"
"""Which log in PostgreSQL this machine's common stores follow: `oborona site`."""
SITE_UNFINISHED: Final = "site.unfinished"
"""What a begin, join or leave of a site has come to until its end: `oborona site`."""

# Stores in SQLite.
JOURNAL: Final = "journal.db"
"""Verdicts and their evidence: the keeper, from the spool of the workers."""
EVENTS: Final = "events.db"
"""What people say of messages: the intake, the workers (traps) and `oborona learn`.

Decided by the trainer.
"""
EVENTS_SPOOL: Final = "events.spool.db"
"""Events that wait while the site's log is away: the intake, the workers; the keeper hands them on.
"""
FEEDBACK: Final = "feedback.db"
"""Labels that were believed, and their effects: the trainer and `oborona learn`."""
PERSONS: Final = "personal.db"
"""Persons' lists and contacts: commands, the workers (contacts) and the trainer (what was
believed).
"""
PINS: Final = "reputation.db"
"""Manual overrides, notes and their log: commands."""
SIGNATURES: Final = "signatures.db"
"""Signatures: commands, and the trainer (proposals)."""
MOVES: Final = "recheck.db"
"""Delivered copies that were moved or are to be: the keeper and commands."""
SITE_MOVES: Final = "site-moves.db"
"""Moves that all machines of a site know until they are made: the keeper."""

ACCOUNTS: Final = "accounts.db"
"""Accounts, what they may do, ratings and incidents: commands, the keeper, and workers by HTTP."""
ACCOUNTS_WAITING: Final = "accounts.waiting"
"""Accounts that are stopped on this machine alone while the site's log is away: the keeper."""
EXCESSES: Final = "excesses"
"""Folder of excesses that the inspector has not judged yet: the workers and the keeper."""
COMPLAINTS_HEARD: Final = "complaints.heard"
"""Up to which label limits on complaints were tried: the keeper."""
QUEUE_DUE: Final = "queue.due"
"""Mark that somebody is to look to the mail server's queue: the keeper; who does it takes it."""
QUEUE_HOLDS: Final = "queue-holds.db"
"""Messages that are held in the mail server's queue because their account is banned: who looks to
it.
"""
HOOK_DUE: Final = "hook.due"
"""Mark that the hook's command is to be run: the keeper; who runs it takes it."""
QUEUE_HELD: Final = "queue.held"
"""What is held in the mail server's queue: who looks to it."""
SENDERS_TOLD: Final = "senders.told"
"""When senders were told of their held mail, of the last day: who looks to the queue."""
HELD_LAST: Final = "held.last"
"""Mark whose time says when a message was held last: the workers."""
HELD_TOLD: Final = "held.told"
"""Mark whose time says when people were told of held mail last: the keeper."""
ADDRESSES: Final = "addresses.db"
"""Which own addresses are on DNS lists, and how far their rounds are: the keeper."""
FLOWS: Final = "flows.db"
"""Files of flows that were taken, windows of the last day, exporters: the flow process."""
FLOWS_STAGED: Final = "flows.staged"
"""Folder of what flows bring to the counters and is not released yet: the flow process."""

EVENT_LOGS: Final = "eventlog"
"""Folder of event logs, a folder each: the process of event logs."""
EVENT_LOG_WORK: Final = "eventlog.work"
"""Folder of what a batch does not fit into memory: the process of event logs."""
EVENT_LOG_RECEIVED: Final = "eventlog.received"
"""Folder of events that came by HTTP and are in no checked table yet, a folder for each log: the
workers and the process of event logs.
"""
EVENT_LOG_MODELS: Final = "eventlog.models"
"""Models of persons, one for each event log that has one: `LOG.model`."""
EVENT_LOG_STORE: Final = "eventlog.db"
"""What is known of event logs: tables, batches, dropped files: the process of event logs."""

DESK_SOCKET: Final = "desk.sock"
"""Where pages and programs call: the desk."""
DESK: Final = "desk.db"
"""Orders that came with a key of their own, of the last day, with their answers: the desk."""
DESK_IDENTITY: Final = "desk.pem"
"""Key and certificate by which desks of other machines know this one: who needs it first."""
CASES: Final = "cases.db"
"""Campaigns that somebody looks at or has decided, and appeals of senders: the desk."""
CHARTS: Final = "chart.db"
"""What the daemon did in each ten minutes and each day: the keeper."""
AUDIT: Final = "audit.db"
"""Who did what to this site, a chain of rows: every command that changes something."""

PEOPLE: Final = "people.db"
"""Who may log in, with hashes of passwords, sessions and keys: commands and the desk."""
DIGESTS: Final = "digests.db"
"""When who gets a digest, and what became of the last: the desk."""
POLICY_VERSIONS: Final = "policy-versions.db"
"""What the site's policy folder held when, and who made it so: the desk and commands."""
POLICY_APPLIED: Final = "policy.applied"
"""Which of the site's versions the policy folder of this machine holds: who publishes, and who
follows the site's policy.
"""
POLICY_BEFORE_SITE: Final = "policy.before-site-"
"""Folders that begin so, what the policy folder held before the site's: who follows its policy."""
POLICY_DRAFTS: Final = "drafts"
"""Folder of drafts of the policy, a folder each: the desk and commands."""
POLICY_LOCK: Final = "policy.lock"
"""Held by who publishes a policy or changes a draft: the desk and commands."""
FEED_POLICY: Final = "feed-policy"
"""Folder of the policy files of the feed that are in force: `oborona policy update`."""
FEED_WAITING: Final = "feed-waiting"
"""Folder of those of a version that waits for its time: the same."""
FEED: Final = "feed-record.json"
"""Which versions of the feed were seen, wait, were rolled back: the same."""
FEED_VERSIONS: Final = "feed-versions.db"
"""What the folder of the feed held when: the same."""

# Beside the journal.
JOURNAL_SPOOL: Final = "journal.spool"
"""Folder of entries that are not in the journal yet: the workers."""
INDEX: Final = "index"
"""Folder, from pieces of messages to messages: the keeper."""
INDEX_LIST: Final = "index.json"
"""In `index`, which of its files are in force: the keeper."""
SEARCH: Final = "search"
"""Folder, a file for each day that tells which messages may have a word: the keeper."""

# Models.
WEIGHTS: Final = "model.weights"
"""Weights of the content model in force: the trainer."""
WEIGHTS_FRESH: Final = ".model.weights"
"""Weights that are being made: the trainer."""
WEIGHTS_BASE: Final = "model.base"
"""Weights that another site has learned: `oborona model import`."""
WEIGHTS_SNAPSHOTS: Final = "model.snapshots"
"""Folder of earlier weights: the trainer."""
FINAL_MODEL: Final = "final.model"
"""The final model in force: `oborona model final`."""
FINAL_MODEL_BEFORE: Final = "final.model.before"
"""The final model that was in force before it: `oborona model final`."""
FINAL_SHIPPED: Final = "final.shipped"
"""A model that stands in place of the one that comes with Oborona: `oborona model final`."""
SITE_MODELS: Final = "site-models.db"
"""The final models of a site of several machines, which decides, and what was found of them: who
replaces one.
"""
FINAL_CHOICE: Final = "final.choice"
"""Which final model decides: the final trainer, and `oborona model final`."""
FINAL_TRAINING: Final = "final.training"
"""What the final trainer found and did, and what a person holds: the final trainer, and
`oborona model final`.
"""
FINAL_WORK: Final = "final.work"
"""Folder of a training that runs: the final trainer's child."""
FINAL_REPORTS: Final = "final.reports"
"""Folder of the pages of the last trainings: the final trainer."""

# Counts.
COUNTERS: Final = "counters"
"""Folder of the counts: the writer."""
COUNTERS_DATA: Final = "data.mdb"
"""In `counters` and its outbox, the store of LMDB: the writer."""
COUNTERS_READERS: Final = "lock.mdb"
"""Beside each `data.mdb`, LMDB's table of readers: every process that reads it."""
COUNTERS_COMPACTING: Final = "data.mdb.compacting"
"""In `counters`, a smaller copy that is being made: `oborona counters compact`."""
COUNTERS_NOTE: Final = "data.known"
"""In `counters`, the data file as it was when its writer ended: the writer."""
COUNTERS_SPOOL: Final = "spool"
"""In `counters`, the folder of what is not counted yet: the workers and other processes that
count.
"""
COUNTERS_OUTBOX: Final = "outbox"
"""In `counters`, the folder of what a Redis Cluster has not acknowledged: the writer."""
DOORKEEPER: Final = "doorkeeper.table"
"""In `counters`, what was seen once and is not counted yet: the writer."""

# What processes say of themselves, and of what is in force.
STATUS: Final = "status"
"""Folder, a file of what each process says of itself: that process."""
LAST_TROUBLE: Final = "status/last-trouble.json"
"""What ended a process last, or kept the service from starting: the supervisor."""
POLICY_IN_FORCE: Final = "policy"
"""Folder of copies of the policy: the publisher."""
POLICY_PAGE: Final = "page"
"""In `policy`, which copy is offered and in force: the publisher and the workers."""
SET_APART: Final = "set-apart"
"""Folder of messages that processes died of: the supervisor."""

# Sockets. The state folder is closed to others, and so are they.
POLICY_SOCKET: Final = "policy.sock"
"""`oborona policy reload` asks here: the publisher."""
READER_SOCKET: Final = "reader.sock"
"""Workers hand pictures in here: the reader."""

# Locks: each has the process that holds it.
STATE_LOCK: Final = "state.lock"
"""Held while the stores are made ready: every process that starts."""
WORKERS_LOCK: Final = "workers.lock"
"""Held by the supervisor of the workers."""
KEEPER_LOCK: Final = "keeper.lock"
"""Held by the supervisor of the keeper."""
READER_LOCK: Final = "reader.lock"
"""Held by the supervisor of the reader."""
TRAINER_LOCK: Final = "trainer.lock"
"""Held by the supervisor of the trainer, and by commands that train."""
FINAL_LOCK: Final = "final.lock"
"""Held by who replaces a final model, or says which decides."""
INTAKE_LOCK: Final = "intake.lock"
"""Held by the supervisor of the intake."""
FLOWS_LOCK: Final = "flows.lock"
"""Held by the supervisor of the flow process."""
EVENT_LOG_LOCK: Final = "eventlog.lock"
"""Held by the process of event logs."""
JOURNAL_LOCK: Final = "journal.lock"
"""Held while the journal is made ready: the keeper, or a process that starts."""
COUNTERS_LOCK: Final = "writer.lock"
"""In `counters`, held by the writer."""
