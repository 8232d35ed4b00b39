"""A journal entry: the verdict on one message, and the evidence to repeat it."""

from __future__ import annotations

from typing import Final

import msgspec

from oborona.journal.evidence import VerdictEvidence
from oborona.types import Action, Finding, RuleHit, ShadowVerdict, Shingle

SUBJECT_LENGTH: Final = 200  # characters of it, and of From: enough to know a message by


class JournalEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One judged message.

    Peer texts may hold anything that a str can, NUL and lone surrogates included. The journal cuts
    them to `TEXT_LENGTH`, the subject and From to `SUBJECT_LENGTH`; facts above `FACTS_BYTES` lose
    their texts and lists.
    """

    id: int  # `JournalIdGenerator.next`: 63 bits, in order of time
    time: float  # Unix seconds, when the verdict fell
    verdict: Action
    score: float
    line: float  # the score it was held to
    decided_by: str
    queue_id: str = ""  # the mail server's; empty = unknown
    message_id: str = ""  # empty = none
    client_ip: str = ""
    helo: str = ""
    sender: str = ""  # empty = bounce
    recipients: tuple[str, ...] = ()
    login: str = ""
    size: int = 0  # bytes, headers included
    subject: str = ""  # decoded
    # the first mailbox in From, its name decoded; empty = none, or of an older Oborona
    header_from: str = ""
    rules: tuple[RuleHit, ...] = ()
    findings: tuple[Finding, ...] = ()
    # by name: numbers, bools, texts, lists of them; sets come back as lists
    facts: dict[str, object] = {}
    shingles: tuple[Shingle, ...] = ()
    policy_version: str = ""
    partial: bool = False  # judged without something that should have been known
    # what everything in shadow mode would have made of it, where that is something else
    would: ShadowVerdict | None = None
    # None: of a message that was not scanned, of an older Oborona, or purged
    kept: VerdictEvidence | None = None
    door: str = ""  # the listener that it came by; empty = unknown, or of an older Oborona


class LateFindings(msgspec.Struct, frozen=True, kw_only=True):
    """Findings after a message's answer, and the verdict that it would have had with them."""

    id: int  # of its `JournalEntry`
    time: float  # Unix seconds, when it was judged again
    before: Action
    score_before: float
    verdict: Action
    score: float
    line: float
    decided_by: str
    rules: tuple[RuleHit, ...] = ()
    findings: tuple[Finding, ...] = ()  # those that are new
    facts: dict[str, object] = {}  # those that differ from the entry's
    shingles: tuple[Shingle, ...] = ()  # those that are new


class CopyDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """Where a copy was delivered, as the delivery door reported."""

    id: int  # of its `JournalEntry`
    recipient: str  # as the mail server names the mailbox: an alias has become who it is for
    spam: bool  # to the spam folder
    time: float  # Unix seconds, when it was handed over
