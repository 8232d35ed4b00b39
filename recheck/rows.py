"""Journal entries as table rows and back: pure.

Texts are cut, and one that is no Unicode (a lone surrogate) becomes a blob of UTF-8 with surrogates passed through,
so that every str comes back as it was. Facts are stored as their values; the list of their names, the same for
almost all messages, is a row of its own. JSON is msgspec's (NaN and infinities become
null); what it refuses, lone surrogates above all, goes through the standard library and is a blob too.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from functools import lru_cache, partial
from hashlib import blake2b
from itertools import chain
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from oborona.recheck.entry import FACTS_BYTES, SUBJECT_LENGTH, TEXT_LENGTH, Entry, Late, Went
from oborona.recheck.kept import packed, unpacked
from oborona.types import Action, Finding, RuleHit, Shingle, Would

VERDICT_COLUMNS: Final = (
    "id, time, verdict, score, line, decided_by, partial, policy_version, size, queue_id, message_id, message_key,"
    " client_ip, helo, sender, login, recipients, subject, rules, would"
)
EVIDENCE_COLUMNS: Final = "id, findings, shape, facts, shingles, kept"
LATE_COLUMNS: Final = (
    "id, time, before, score_before, verdict, score, line, decided_by, rules, findings, facts, shingles"
)
WENT_COLUMNS: Final = "id, recipient, spam, time"
MAX_NAMES: Final = 1000  # facts by name that share a list; more is stored with the names in place
_OVERHEAD_BYTES: Final = 1500  # of a row in memory: two tuples and some thirty small objects
_WENT_BYTES: Final = 400

_T = TypeVar("_T")
_SHINGLE: Final = partial(tuple.__new__, Shingle)  # of a pair, without a call of Python for each of sixty
_JSON: Final = msgspec.json.Encoder(enc_hook=str)
_RULES: Final = msgspec.json.Decoder(tuple[RuleHit, ...])
_FINDINGS: Final = msgspec.json.Decoder(tuple[Finding, ...])
_WOULD: Final = msgspec.json.Decoder(Would)
_ASKS: Final = msgspec.json.Decoder(dict[str, str])
_TEXTS: Final = msgspec.json.Decoder(tuple[str, ...])
_OBJECT: Final = msgspec.json.Decoder(dict[str, Any])
_ARRAY: Final = msgspec.json.Decoder(list[Any])


class Row(NamedTuple):
    """An entry, ready to be written."""

    verdict: tuple[object, ...]  # in the order of VERDICT_COLUMNS
    evidence: tuple[object, ...]  # in the order of EVIDENCE_COLUMNS
    shape: int | None  # id of its list of names
    names: tuple[str, ...]
    bytes: int  # what it takes in memory, about


class LateRow(NamedTuple):
    """What was found late, ready to be written."""

    values: tuple[object, ...]  # in the order of LATE_COLUMNS
    bytes: int  # what it takes in memory, about


class WentRow(NamedTuple):
    """Where a copy went, ready to be written."""

    values: tuple[object, ...]  # in the order of WENT_COLUMNS
    bytes: int  # what it takes in memory, about


def pack_went(went: Went) -> WentRow:
    """Return where a copy went as a row."""
    return WentRow((went.id, stored(went.recipient), went.spam, went.time), _WENT_BYTES)


def unpack_went(row: tuple[Any, ...]) -> Went:
    """Return what a row in the order of WENT_COLUMNS holds."""
    ident, recipient, spam, when = row
    return Went(id=ident, recipient=_unpacked(recipient), spam=bool(spam), time=when)


def pack_late(late: Late) -> LateRow:
    """Return what was found late as a row.

    Raises:
        Exception: only where it is not what its types say: our own bug.
    """
    rules, findings = _to_json(late.rules), _to_json(late.findings)
    facts = _to_json(late.facts)
    if len(facts) > FACTS_BYTES:
        facts = _to_json(
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
    return LateRow(values, _OVERHEAD_BYTES + len(rules) + len(findings) + len(facts) + len(shingles))


def unpack_late(row: tuple[Any, ...]) -> Late:
    """Return what a row in the order of LATE_COLUMNS holds."""
    ident, when, before, score_before, verdict, score, line, decided_by, rules, findings, facts, shingles = (
        row
    )
    return Late(
        id=ident,
        time=when,
        before=Action(before),
        score_before=score_before,
        verdict=Action(verdict),
        score=score,
        line=line,
        decided_by=decided_by,
        rules=_from_json(rules, _RULES),
        findings=_from_json(findings, _FINDINGS),
        facts=_from_json(facts, _OBJECT),
        shingles=unpack_shingles(shingles),
    )


def pack(entry: Entry) -> Row:
    """Return an entry as rows.

    Raises:
        Exception: only where the entry is not what its types say (a shingle type above 255, say): our own bug.
    """
    shape, names, facts = _pack_facts(entry.facts)
    message_id = stored(entry.message_id)
    recipients = _to_json(tuple(address[:TEXT_LENGTH] for address in entry.recipients))
    rules = _to_json(entry.rules)
    findings = _to_json(entry.findings)
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
        stored(entry.queue_id) or None,
        message_id or None,
        message_key(entry.message_id) if message_id else None,
        stored(entry.client_ip),
        stored(entry.helo),
        stored(entry.sender),
        stored(entry.login),
        recipients,
        _packed(entry.subject[:SUBJECT_LENGTH]),
        rules,
        None if entry.would is None else _to_json(entry.would),
    )
    kept = None if entry.kept is None else packed(entry.kept)
    size = sum(map(len, (recipients, rules, findings, facts, shingles, kept or b"")), _OVERHEAD_BYTES)
    return Row(verdict, (entry.id, findings, shape, facts, shingles, kept), shape, names, size)


def unpack(verdict: tuple[Any, ...], evidence: tuple[Any, ...] | None, names: str | bytes | None) -> Entry:
    """Return the entry of two rows.

    Args:
        verdict: in the order of VERDICT_COLUMNS.
        evidence: in the order of EVIDENCE_COLUMNS; None when it was purged: the entry then has none.
        names: JSON of its list of names, None when its facts are an object.
    """
    (
        ident, when, action, score, line, decided_by, partial, policy_version, size, queue_id, message_id, _,
        client_ip, helo, sender, login, recipients, subject, rules, would,
    ) = verdict  # fmt: skip
    _, findings, shape, facts, shingles, kept = evidence or (0, "[]", None, "{}", b"", None)
    return Entry(
        id=ident,
        time=when,
        verdict=Action(action),
        score=score,
        line=line,
        decided_by=decided_by,
        partial=bool(partial),
        policy_version=policy_version,
        size=size,
        queue_id=_unpacked(queue_id),
        message_id=_unpacked(message_id),
        client_ip=_unpacked(client_ip),
        helo=_unpacked(helo),
        sender=_unpacked(sender),
        login=_unpacked(login),
        recipients=_from_json(recipients, _TEXTS),
        subject=_unpacked(subject),
        rules=_from_json(rules, _RULES),
        findings=_from_json(findings, _FINDINGS),
        facts=_unpack_facts(facts, None if shape is None else names or "[]"),
        shingles=unpack_shingles(shingles),
        would=None if would is None else _from_json(would, _WOULD),
        kept=None if kept is None else unpacked(kept),
    )


def _pack_shingles(shingles: tuple[Shingle, ...]) -> bytes:
    return struct.pack("<" + "BQ" * len(shingles), *chain.from_iterable(shingles))


def unpack_shingles(octets: bytes) -> tuple[Shingle, ...]:
    """Return the shingles of their octets.

    Raises:
        struct.error: they are damaged.
    """
    return tuple(map(_SHINGLE, struct.iter_unpack("<BQ", octets)))


def message_key(message_id: str) -> int:
    """Return what a Message-ID is found by: a signed 64-bit number."""
    text = message_id[:TEXT_LENGTH].encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), signed=True)


def stored(text: str) -> str | bytes:
    """Return a peer's text as it stands in its column."""
    return _packed(text[:TEXT_LENGTH])


def names_json(names: tuple[str, ...]) -> str | bytes:
    """Return a list of fact names as it is stored."""
    return _to_json(names)


def asks_json(asks: Mapping[str, str]) -> str | bytes:
    """Return what the rules of a policy ask, as it is stored."""
    return _to_json(asks)


def unpack_asks(stored: str | bytes) -> dict[str, str]:
    """Return what the rules of a policy asked.

    Raises:
        ValueError: it is damaged.
    """
    return _from_json(stored, _ASKS)


def _pack_facts(facts: dict[str, object]) -> tuple[int | None, tuple[str, ...], str | bytes]:
    values = _to_json(list(facts.values()))
    if len(values) > FACTS_BYTES:
        facts = {name: value for name, value in facts.items() if isinstance(value, int | float)}
        values = _to_json(list(facts.values()))
    names = tuple(facts)
    if len(names) > MAX_NAMES or not names:
        return None, (), _to_json(facts) if len(names) <= 4 * MAX_NAMES else "{}"
    return _shape(names), names, values


def _unpack_facts(facts: str | bytes, names: str | bytes | None) -> dict[str, Any]:
    if names is None:
        return _from_json(facts, _OBJECT)
    known = _names(names)
    values: list[Any] = _from_json(facts, _ARRAY)
    return dict(zip(known, values, strict=False))


@lru_cache(maxsize=64)
def _names(stored: str | bytes) -> tuple[str, ...]:
    return _from_json(stored, _TEXTS)


@lru_cache(maxsize=64)  # the lists of one policy and the one before it
def _shape(names: tuple[str, ...]) -> int:
    """Return the id of a list of names: 63 bits of its hash, so that all processes find the same."""
    text = "\0".join(names).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest()) >> 1


def _packed(text: str) -> str | bytes:
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def _unpacked(stored: str | bytes | None) -> str:
    if isinstance(stored, bytes):
        return stored.decode("utf-8", "surrogatepass")
    return stored or ""


def _to_json(value: object) -> str | bytes:
    """Return JSON as text, so that SQL can look into it; as a blob where it is no Unicode."""
    try:
        return _JSON.encode(value).decode()
    except (UnicodeEncodeError, OverflowError, TypeError, msgspec.MsgspecError):
        plain = msgspec.to_builtins(value, str_keys=True, enc_hook=str)
        text = json.dumps(plain, default=str, separators=(",", ":"), ensure_ascii=False)
        return _packed(text)


def _from_json(stored: str | bytes, decoder: msgspec.json.Decoder[_T]) -> _T:
    try:
        return decoder.decode(stored)
    except (msgspec.MsgspecError, UnicodeError):
        text = stored.decode("utf-8", "surrogatepass") if isinstance(stored, bytes) else stored
        return msgspec.convert(json.loads(text), decoder.type)
