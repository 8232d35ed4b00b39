"""The search language of the journal: words, `field:word`, `score>80`, `since:2h`; pure.

    maria lunch                a word matches any field; all words must match
    "two words" -newsletter    a phrase; and what must not match
    from:shop.example to:joe   one field; all of them: `QueryField`
    rule:MASS_* decided:ZEN    names of rules; a star at the end is any rest
    client:192.0.2.0/24        an address, its beginning, or a network
    score>=80 since:2d until:2026-11-22

Words match anywhere in their field, capitals or not; `verdict:`, `queue:`, `id:`, `message:`,
`rule:` and `decided:` match the whole of it.  Anything that looks like a field and is none is a
word, such as `Re:`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from enum import StrEnum
from ipaddress import ip_network
from typing import Final

import msgspec

from oborona.journal.texts import TEXT_LENGTH
from oborona.types import Action

MOST_TERMS: Final = 30  # of a question; each is a condition in SQL
VERDICTS: Final = {
    **{action.value: action for action in Action},
    "ok": Action.ACCEPT,
    "inbox": Action.ACCEPT,
    "junk": Action.SPAM,
    "refused": Action.REJECT,
    "deferred": Action.TEMPFAIL,
}
"""Words for a verdict: ours, and those of mail programs and servers."""

_WORDS: Final = re.compile(r'(-?)(?:([A-Za-z]+)([:=]|<=|>=|<|>))?(?:"([^"]*)"?|([^\s"]+))|\S')
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_SPAN: Final = re.compile(r"([0-9]{1,6})([smhdw])")
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,9}(?:\.[0-9]{1,6})?")
_MOMENTS: Final = (
    "%Y-%m-%d",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%M:%S",
)


class BadQuery(ValueError):  # noqa: N818 - reads as what happened
    """A query that can't be run; the text says what to write instead."""


class QueryField(StrEnum):
    """The fields that a word may match."""

    ANY = ""  # any of the others
    FROM = "from"  # envelope sender, or From
    TO = "to"  # recipients
    SUBJECT = "subject"
    CLIENT = "client"  # address of the SMTP client
    HELO = "helo"
    LOGIN = "login"
    RULE = "rule"  # a rule or list that hit, live or in shadow mode
    VERDICT = "verdict"
    DECIDED = "decided"  # what decided
    QUEUE = "queue"  # the mail server's id
    ID = "id"  # as X-Mras-Id, a refusal or the log has it
    MESSAGE = "message"  # Message-ID


class QueryTerm(msgspec.Struct, frozen=True):
    """One condition."""

    field: QueryField
    text: str
    negated: bool = False


class ScoreBound(msgspec.Struct, frozen=True):
    """A bound of the score."""

    sign: str  # <, <=, >, >=
    score: float


class JournalQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A query: all its conditions must hold."""

    terms: tuple[QueryTerm, ...] = ()
    bounds: tuple[ScoreBound, ...] = ()
    since: float | None = None  # Unix seconds, inclusive
    until: float | None = None  # exclusive


def parse_query(text: str, now: float) -> JournalQuery:
    """Return the question that a line asks.

    Args:
        text: anything at all.
        now: Unix seconds, which spans are counted back from; days and hours are those of this
            machine's time zone.

    Raises:
        BadQuery: a verdict, time, score or network that is none; too many words.
    """
    terms, bounds, since, until = list[QueryTerm](), list[ScoreBound](), None, None
    for sign, name, mark, word in _split(text):
        lower = name.lower()
        if lower == "score" and mark in ("<", "<=", ">", ">="):
            bounds.append(ScoreBound(mark, _number(word)))
        elif lower == "since" and mark == ":":
            since = parse_moment(word, now)
        elif lower == "until" and mark == ":":
            until = parse_moment(word, now, end=True)
        elif lower in _CHECKED and mark == ":":
            field = QueryField(lower)
            terms.append(QueryTerm(field, _CHECKED[field](word), sign))
        elif word:
            terms.append(QueryTerm(QueryField.ANY, f"{name}{mark}{word}", sign))
    if len(terms) > MOST_TERMS:
        raise BadQuery(f"more than {MOST_TERMS} words")
    return JournalQuery(
        terms=tuple(term for term in terms if term.text),
        bounds=tuple(bounds),
        since=since,
        until=until,
    )


def parse_span(text: str) -> float | None:
    """Return the seconds of a span as people write it: 90s, 30m, 2h, 7d, 2w.

    None where it is none.
    """
    match = _SPAN.fullmatch(text.strip().lower())
    return None if match is None else float(int(match[1]) * _UNITS[match[2]])


def parse_moment(text: str, now: float, *, end: bool = False) -> float:
    """Return Unix seconds of a span back from now (30m, 2h, 7d), a day, or a day and time.

    Args:
        text: as people write it.
        now: Unix seconds.
        end: of a day its end is meant.

    Raises:
        BadQuery: it is none.
    """
    text = text.strip()
    back = parse_span(text)
    if back is not None:
        return now - back
    for form in _MOMENTS:
        try:
            when = datetime.strptime(text, form)  # noqa: DTZ007 - as the clock on the admin's wall shows it
            return (when + timedelta(days=1) if end and form == _MOMENTS[0] else when).timestamp()
        except (ValueError, OverflowError, OSError):
            continue
    raise BadQuery(f'{text[:50]!a} is no time: write 30m, 2h, 7d, 2026-11-22 or "2026-11-22 14:00"')


def _split(text: str) -> Iterator[tuple[bool, str, str, str]]:
    """Yield sign, name of a field, mark behind it, and word."""
    clean = text.replace("\0", " ").encode("utf-8", "replace").decode()
    for match in _WORDS.finditer(clean):
        sign, name, mark, phrase, word = match.groups()
        yield bool(sign), name or "", mark or "", (phrase or word or "")[:TEXT_LENGTH]


def _number(text: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise BadQuery(f"score: {text[:50]!a} is no number; write score>80")
    return float(text)


def _verdict(text: str) -> str:
    match = VERDICTS.get(text.lower())
    if match is None:
        raise BadQuery(
            f"verdict: {text[:50]!a} is none of {', '.join(action.value for action in Action)}"
        )
    return match.value


def _client(text: str) -> str:
    if "/" in text:
        try:
            return str(ip_network(text, strict=False))
        except ValueError:
            raise BadQuery(f"client: {text[:50]!a} is no network; write 192.0.2.0/24") from None
    return text.strip("[]")


def _bare(text: str) -> str:
    return text.strip("<>")


def _same(text: str) -> str:
    return text


_CHECKED: Final[dict[str, Callable[[str], str]]] = {
    QueryField.FROM: _bare,
    QueryField.TO: _bare,
    QueryField.SUBJECT: _same,
    QueryField.CLIENT: _client,
    QueryField.HELO: _same,
    QueryField.LOGIN: _same,
    QueryField.RULE: _same,
    QueryField.VERDICT: _verdict,
    QueryField.DECIDED: _same,
    QueryField.QUEUE: _same,
    QueryField.ID: _same,
    QueryField.MESSAGE: _same,
}
"""Field → what its word must be."""
