"""The logs of events that we keep ourselves: their columns, and all kinds of their events.

Their tables have these columns in this order (`oborona.eventlog.export`).
"""

from __future__ import annotations

from typing import Final

from oborona.policy.event_columns import ColumnKind
from oborona.policy.event_logs import RuledLog

FEEDBACK: Final = RuledLog(
    name="FEEDBACK",
    columns={
        "way": ColumnKind.TEXT,  # sieve, report, ...
        "heard": ColumnKind.TIME,  # when it was written down
        "message": ColumnKind.INTEGER,  # its id in the journal; null = unknown
        "message_id": ColumnKind.HASHED,
        "source": ColumnKind.HASHED,  # who handed it in
        "believed": ColumnKind.FLAG,  # null = not decided yet
        "weight": ColumnKind.NUMBER,  # the same
        "reasons": ColumnKind.TEXT,  # antifraud rules of feedback, blanks between them
    },
    events=("complaint", "pardon", "read", "deleted", "trap"),
)
MESSAGES: Final = RuledLog(
    name="MESSAGES",
    columns={
        "message": ColumnKind.INTEGER,  # its id in the journal
        "verdict": ColumnKind.TEXT,
        "score": ColumnKind.NUMBER,
        "decided_by": ColumnKind.TEXT,
        "partial": ColumnKind.FLAG,
        "policy": ColumnKind.TEXT,  # its version
        "size": ColumnKind.INTEGER,  # octets
        "recipients": ColumnKind.INTEGER,
        "own": ColumnKind.FLAG,  # one of our own people sent it
        "client": ColumnKind.HASHED,  # its address
        "hits": ColumnKind.TEXT,  # rules of the policy that fired, blanks between them
    },
    events=("message",),
)
REFUSALS: Final = RuledLog(
    name="REFUSALS",
    columns={
        "stage": ColumnKind.TEXT,  # of what was judged
        "told": ColumnKind.TEXT,  # where the client heard of it
        "verdict": ColumnKind.TEXT,
        "score": ColumnKind.NUMBER,
        "decided_by": ColumnKind.TEXT,
        "policy": ColumnKind.TEXT,  # its version
        "times": ColumnKind.INTEGER,  # how many were refused
        "recipients": ColumnKind.INTEGER,  # how often one was named by them
        "last": ColumnKind.TIME,
    },
    events=("refusal",),
)
MOVES: Final = RuledLog(
    name="MOVES",
    columns={
        "message": ColumnKind.INTEGER,  # its id in the journal
        "source": ColumnKind.TEXT,  # mailboxes
        "target": ColumnKind.TEXT,
        "state": ColumnKind.TEXT,  # as it was when it was exported
        "score": ColumnKind.NUMBER,
        "line": ColumnKind.NUMBER,  # over which it was to be
        "cause": ColumnKind.TEXT,  # what made us look
        "why": ColumnKind.TEXT,
    },
    events=("move", "move_back"),
)
DEEDS: Final = RuledLog(
    name="DEEDS",
    columns={
        "by": ColumnKind.TEXT,  # a person, or a program
        "until": ColumnKind.TIME,  # null = for ever
    },
    events=("import", "trust", "untrust", "limit", "ban", "unban"),
)
INCIDENTS: Final = RuledLog(
    name="INCIDENTS",
    columns={
        "limit": ColumnKind.TEXT,
        "metric": ColumnKind.TEXT,
        "window": ColumnKind.TEXT,
        "value": ColumnKind.NUMBER,
        "most": ColumnKind.NUMBER,  # what the limit allows
        "rating": ColumnKind.INTEGER,  # of the account
        "line": ColumnKind.TEXT,  # trusted, confident, duty, ban
        "address": ColumnKind.HASHED,
    },
    events=("incident",),
)
FLOWS: Final = RuledLog(
    name="FLOWS",
    columns={
        "address": ColumnKind.HASHED,  # of ours
        "customer": ColumnKind.HASHED,  # who answers for the account
        "state": ColumnKind.TEXT,  # of the account then: open, limited, banned; null = no account
        "streams": ColumnKind.INTEGER,  # to ports of SMTP, in the minute
        "packets": ColumnKind.INTEGER,
        "octets": ColumnKind.INTEGER,
        "destinations": ColumnKind.INTEGER,  # addresses
        "networks": ColumnKind.INTEGER,  # /24 and /48, of the destinations
        "refused": ColumnKind.INTEGER,  # streams that ended before a message
        "at_once": ColumnKind.INTEGER,  # null = times of an exporter can't be believed
        "sampled": ColumnKind.FLAG,  # a sampled exporter told of it: all but sums is too low
        "limits": ColumnKind.TEXT,  # flow limits that the address was beyond, blanks between
        "heard": ColumnKind.TIME,  # when it was written down
    },
    events=("flow",),
)
LOGINS: Final = RuledLog(
    name="LOGINS",
    columns={
        "service": ColumnKind.TEXT,  # imap, smtp, ..., as the mail server calls it
        "why": ColumnKind.TEXT,  # it failed: password, unknown account, disabled, ...
        "client": ColumnKind.HASHED,  # its address
        "network": ColumnKind.HASHED,  # /24 or /64 of that address
    },
    events=("login", "failure"),
)
OWN_LOGS: Final = (FEEDBACK, MESSAGES, REFUSALS, MOVES, DEEDS, INCIDENTS, FLOWS, LOGINS)
