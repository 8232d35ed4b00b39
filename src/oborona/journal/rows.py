"""Converts journal entries to table rows and back: pure.

Texts are cut, and encoded as `journal.texts` does. Facts: `journal.fact_rows`.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from functools import partial
from itertools import chain
from typing import Any, Final, NamedTuple

import msgspec

from oborona.journal.entry import (
    SUBJECT_LENGTH,
    CopyDelivery,
    JournalEntry,
    LateFindings,
)
from oborona.journal.evidence import pack_evidence, unpack_evidence
from oborona.journal.fact_rows import FACTS_BYTES, pack_facts, unpack_facts
from oborona.journal.texts import (
    TEXT_LENGTH,
    from_json,
    message_key,
    pack_text,
    to_json,
    unpack_text,
)
from oborona.types import Action, Finding, RuleHit, ShadowVerdict, Shingle

VERDICT_COLUMNS: Final = (
    "id, time, verdict, score, line, decided_by, partial, policy_version, size, queue_id, "
    "message_id, message_key,"
    " client_ip, helo, sender, login, recipients, subject, rules, would, header_from, door"
)
_VERDICT_WIDTH: Final = len(VERDICT_COLUMNS.split(","))
EVIDENCE_COLUMNS: Final = "id, findings, shape, facts, shingles, kept"
LATE_COLUMNS: Final = (
    "id, time, before, score_before, verdict, score, line, decided_by, rules, findings, "
    "facts, shingles"
)
WENT_COLUMNS: Final = "id, recipient, spam, time"
_OVERHEAD_BYTES: Final = 1500  # of a row in memory: two tuples and some thirty small objects
_WENT_BYTES: Final = 400

# of a pair, without a call of Python for each of sixty
_SHINGLE: Final = partial(tuple.__new__, Shingle)
_RULES: Final = msgspec.json.Decoder(tuple[RuleHit, ...])
_FINDINGS: Final = msgspec.json.Decoder(tuple[Finding, ...])
_WOULD: Final = msgspec.json.Decoder(ShadowVerdict)
_ASKS: Final = msgspec.json.Decoder(dict[str, str])
_TEXTS: Final = msgspec.json.Decoder(tuple[str, ...])


class EntryRow(NamedTuple):
    """An entry, ready to be written."""

    verdict: tuple[object, ...]  # in the order of VERDICT_COLUMNS
    evidence: tuple[object, ...]  # in the order of EVIDENCE_COLUMNS
    shape: int | None  # id of its list of names
    names: tuple[str, ...]
    bytes: int  # what it takes in memory, about

    @property
    def ident(self) -> int:
        """The entry's id."""
        number = self.verdict[0]
        assert isinstance(number, int)
        return number


class LateRow(NamedTuple):
    """What was found late, ready to be written."""

    values: tuple[object, ...]  # in the order of LATE_COLUMNS
    bytes: int  # what it takes in memory, about


class CopyDeliveryRow(NamedTuple):
    """Where a copy went, ready to be written."""

    values: tuple[object, ...]  # in the order of WENT_COLUMNS
    bytes: int  # what it takes in memory, about


def pack_went(went: CopyDelivery) -> CopyDeliveryRow:
    """Return where a copy went as a row."""
    return CopyDeliveryRow(
        (went.id, column_text(went.recipient), went.spam, went.time), _WENT_BYTES
    )


def unpack_went(row: tuple[Any, ...]) -> CopyDelivery:
    """Return what a row in the order of WENT_COLUMNS holds."""
    ident, recipient, spam, when = row
    return CopyDelivery(
        id=ident, recipient=unpack_text(recipient), spam=bool(spam), time=float(when)
    )


def pack_late(late: LateFindings) -> LateRow:
    """Return what was found late as a row.

    Raises:
        Exception: only where it is not what its types say: our own bug.
    """
    rules, findings = to_json(late.rules), to_json(late.findings)
    facts = to_json(late.facts)
    if len(facts) > FACTS_BYTES:
        facts = to_json(
            {name: value for name, value in late.facts.items() if isinstance(value, int | float)}
        )
    shingles = _pack_shingles(late.shingles)
    values = (
        late.id,
        late.time,
        late.before.value,
        late.score_before,
        late.verdict.value,
        late.score,
        late.line,
        late.decided_by,
        rules,
        findings,
        facts,
        shingles,
    )
    return LateRow(
        values, _OVERHEAD_BYTES + len(rules) + len(findings) + len(facts) + len(shingles)
    )


def unpack_late(row: tuple[Any, ...]) -> LateFindings:
    """Return what a row in the order of LATE_COLUMNS holds."""
    (
        ident,
        when,
        before,
        score_before,
        verdict,
        score,
        line,
        decided_by,
        rules,
        findings,
        facts,
        shingles,
    ) = row
    return LateFindings(
        id=ident,
        time=float(when),
        before=Action(before),
        score_before=float(score_before),
        verdict=Action(verdict),
        score=float(score),
        line=float(line),
        decided_by=decided_by,
        rules=from_json(rules, _RULES),
        findings=from_json(findings, _FINDINGS),
        facts=unpack_facts(facts, None),
        shingles=unpack_shingles(shingles),
    )


def pack(entry: JournalEntry) -> EntryRow:
    """Return an entry as rows.

    Raises:
        Exception: only where the entry is not what its types say (a shingle type above 255, say):
            our own bug.
    """
    shape, names, facts = pack_facts(entry.facts)
    message_id = column_text(entry.message_id)
    recipients = to_json(tuple(address[:TEXT_LENGTH] for address in entry.recipients))
    rules = to_json(entry.rules)
    findings = to_json(entry.findings)
    shingles = _pack_shingles(entry.shingles)
    verdict = (
        entry.id,
        entry.time,
        entry.verdict.value,
        entry.score,
        entry.line,
        entry.decided_by,
        entry.partial,
        entry.policy_version,
        entry.size,
        column_text(entry.queue_id) or None,
        message_id or None,
        message_key(entry.message_id) if message_id else None,
        column_text(entry.client_ip),
        column_text(entry.helo),
        column_text(entry.sender),
        column_text(entry.login),
        recipients,
        pack_text(entry.subject[:SUBJECT_LENGTH]),
        rules,
        None if entry.would is None else to_json(entry.would),
        pack_text(entry.header_from[:SUBJECT_LENGTH]),
        entry.door,
    )
    evidence_packed = None if entry.kept is None else pack_evidence(entry.kept)
    size = sum(
        map(len, (recipients, rules, findings, facts, shingles, evidence_packed or b"")),
        _OVERHEAD_BYTES,
    )
    return EntryRow(
        verdict, (entry.id, findings, shape, facts, shingles, evidence_packed), shape, names, size
    )


def unpack(
    verdict: tuple[Any, ...], evidence: tuple[Any, ...] | None, names: str | bytes | None
) -> JournalEntry:
    """Return the entry of two rows.

    Args:
        verdict: in the order of VERDICT_COLUMNS.
        evidence: in the order of EVIDENCE_COLUMNS; None when it was purged: the entry then has
            none.
        names: JSON of its list of names, None when its facts are an object.
    """
    (
        ident, when, action, score, line, decided_by, partial, policy_version, size, queue_id, message_id, _,
        client_ip, helo, sender, login, recipients, subject, rules, would, header_from, door,
    ) = verdict  # fmt: skip
    _, findings, shape, facts, shingles, evidence_packed = evidence or (
        0,
        "[]",
        None,
        "{}",
        b"",
        None,
    )
    return JournalEntry(
        id=ident,
        time=float(when),
        verdict=Action(action),
        score=float(score),
        line=float(line),
        decided_by=decided_by,
        partial=bool(partial),
        policy_version=policy_version,
        size=size,
        queue_id=unpack_text(queue_id),
        message_id=unpack_text(message_id),
        client_ip=unpack_text(client_ip),
        helo=unpack_text(helo),
        sender=unpack_text(sender),
        login=unpack_text(login),
        recipients=from_json(recipients, _TEXTS),
        subject=unpack_text(subject),
        rules=from_json(rules, _RULES),
        findings=from_json(findings, _FINDINGS),
        facts=unpack_facts(facts, None if shape is None else names or "[]"),
        shingles=unpack_shingles(shingles),
        would=None if would is None else from_json(would, _WOULD),
        header_from=unpack_text(header_from),
        kept=None if evidence_packed is None else unpack_evidence(evidence_packed),
        door=door or "",
    )


def widen(verdict: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a row of `verdict` that an older Oborona packed, with the columns that it lacks."""
    return verdict + (None,) * (_VERDICT_WIDTH - len(verdict))


def _pack_shingles(shingles: tuple[Shingle, ...]) -> bytes:
    return struct.pack("<" + "BQ" * len(shingles), *chain.from_iterable(shingles))


def unpack_shingles(octets: bytes) -> tuple[Shingle, ...]:
    """Return the shingles of their octets.

    Raises:
        struct.error: they are damaged.
    """
    return tuple(map(_SHINGLE, struct.iter_unpack("<BQ", octets)))


def column_text(text: str) -> str | bytes:
    """Return a peer's text as it stands in its column."""
    return pack_text(text[:TEXT_LENGTH])


def names_json(names: tuple[str, ...]) -> str | bytes:
    """Return a list of fact names as it is stored."""
    return to_json(names)


def asks_json(asks: Mapping[str, str]) -> str | bytes:
    """Return what the rules of a policy ask, as it is stored."""
    return to_json(asks)


def unpack_asks(stored: str | bytes) -> dict[str, str]:
    """Return what the rules of a policy asked.

    Raises:
        ValueError: it is damaged.
    """
    return from_json(stored, _ASKS)
