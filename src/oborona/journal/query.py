"""The search language of the journal: words, `field:word`, `score>80`, `since:2h`; pure.

    maria lunch                a word matches any field; all words must match
    "two words" -newsletter    a phrase; and what must not match
    mari*                      what begins so
    from:shop.example to:joe   one field; all of them: `QueryField`
    domain:shop.example        sender, From or recipient there, or below it
    rule:MASS_* decided:ZEN    names of rules; a star at the end is any rest
    door:proxy                 the listener that it came by: `DOORS`
    ip:192.0.2.7 ip:192.0.2.0/24   an address or a network; client: also its beginning
    score>=80 size>10M since:2d until:2026-11-22

Words match anywhere in their field, capitals or not; `verdict:`, `queue:`, `id:`, `message:`,
`rule:`, `decided:` and `door:` match the whole of it.  Anything that looks like a field and is none
is a word, such as `Re:`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from ipaddress import ip_network
from typing import Final

import msgspec

from oborona import ident
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
DOORS: Final = ("milter", "policy_service", "exim", "http", "proxy", "spamd")
"""Listeners, by their names in the settings."""

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


_ID: Final = re.compile(r"([0-9A-Za-z]{13})(?:\.[0-9A-Za-z]*)?")
_SIZE: Final = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)([kmg]?)i?b?")
_SIZES: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_SIGNS: Final = ("<", "<=", ">", ">=")


class BadQuery(ValueError):  # noqa: N818 - reads as what happened
    """A query that can't be run; the text says what to write instead."""


class QueryField(StrEnum):
    """The fields that a word may match."""

    ANY = ""  # any of the others
    FROM = "from"  # envelope sender, or From
    TO = "to"  # recipients
    SUBJECT = "subject"
    CLIENT = "client"  # address of the SMTP client
    DOMAIN = "domain"  # of sender, From or a recipient; or one below it
    HELO = "helo"
    LOGIN = "login"
    RULE = "rule"  # a rule or list that hit, live or in shadow mode
    VERDICT = "verdict"
    DECIDED = "decided"  # what decided
    QUEUE = "queue"  # the mail server's id
    ID = "id"  # as X-Mras-Id, a refusal or the log has it
    MESSAGE = "message"  # Message-ID
    LIST = "list"  # List-Id
    DOOR = "door"  # the listener that it came by


class QueryTerm(msgspec.Struct, frozen=True):
    """One condition."""

    field: QueryField
    text: str
    negated: bool = False


class ScoreBound(msgspec.Struct, frozen=True):
    """A bound of the score."""

    sign: str  # <, <=, >, >=
    score: float


class SizeBound(msgspec.Struct, frozen=True):
    """A bound of the size."""

    sign: str  # <, <=, >, >=
    octets: int


class JournalQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A query: all its conditions must hold."""

    terms: tuple[QueryTerm, ...] = ()
    bounds: tuple[ScoreBound, ...] = ()
    sizes: tuple[SizeBound, ...] = ()
    since: float | None = None  # Unix seconds, inclusive
    until: float | None = None  # exclusive
    before: int | None = None  # an id; only older messages
    after: int | None = None  # an id; only newer messages
    among: tuple[int, ...] | None = None  # ids; only these messages, and no refusals


def parse_query(text: str, now: float) -> JournalQuery:
    """Return the question that a line asks.

    Args:
        text: anything at all.
        now: Unix seconds, which spans are counted back from; days and hours are those of this
            machine's time zone.

    Raises:
        BadQuery: a verdict, time, score, size or network that is none; too many words.  It says at
            which character.
    """
    terms, bounds, sizes = list[QueryTerm](), list[ScoreBound](), list[SizeBound]()
    since = until = None
    for place, sign, name, mark, word in _split(text):
        lower = name.lower()
        try:
            if mark in _SIGNS and lower == "score":
                bounds.append(ScoreBound(mark, _number(word)))
            elif mark in _SIGNS and lower == "size":
                sizes.append(SizeBound(mark, _size(word)))
            elif mark == ":" and lower == "since":
                since = parse_moment(word, now)
            elif mark == ":" and lower == "until":
                until = parse_moment(word, now, end=True)
            elif mark == ":" and lower in _CHECKED:
                field, check = _CHECKED[lower]
                terms.append(QueryTerm(field, check(word), sign))
            elif word:
                terms.append(QueryTerm(QueryField.ANY, f"{name}{mark}{word}", sign))
        except BadQuery as error:
            raise BadQuery(f"{error} (at character {place + 1})") from None
        if len(terms) > MOST_TERMS:
            raise BadQuery(f"more than {MOST_TERMS} words (at character {place + 1})")
    return JournalQuery(
        terms=tuple(term for term in terms if term.text),
        bounds=tuple(bounds),
        sizes=tuple(sizes),
        since=since,
        until=until,
    )


def parse_id(text: str) -> int | None:
    """Return the id that a word names, bare or signed as X-Mras-Id has it; None = none."""
    match = _ID.fullmatch(text)
    return None if match is None else ident.from_text(match[1])


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
        except ValueError:
            continue
        seconds = _clock_seconds(when)
        if end and form == _MOMENTS[0]:
            try:
                return _clock_seconds(when + timedelta(days=1))
            except OverflowError:  # the last day that there is
                return seconds + _UNITS["d"]
        return seconds
    raise BadQuery(f'{text[:50]!a} is no time: write 30m, 2h, 7d, 2026-11-22 or "2026-11-22 14:00"')


def _clock_seconds(when: datetime) -> float:
    """Return Unix seconds of a time by this machine's clock; at the ends of the calendar by UTC."""
    try:
        return when.timestamp()
    except (ValueError, OverflowError, OSError):
        return when.replace(tzinfo=UTC).timestamp()


def _split(text: str) -> Iterator[tuple[int, bool, str, str, str]]:
    """Yield where it begins, sign, name of a field, mark behind it, and word."""
    clean = text.replace("\0", " ").encode("utf-8", "replace").decode()
    for match in _WORDS.finditer(clean):
        sign, name, mark, phrase, word = match.groups()
        word = (phrase or word or "")[:TEXT_LENGTH]
        yield match.start(), bool(sign), name or "", mark or "", word


def _number(text: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise BadQuery(f"score: {text[:50]!a} is no number; write score>80")
    return float(text)


def _size(text: str) -> int:
    match = _SIZE.fullmatch(text.lower())
    if match is None:
        raise BadQuery(f"size: {text[:50]!a} is no size; write size>10M or size<200k")
    return int(float(match[1]) * _SIZES[match[2]])


def _verdict(text: str) -> str:
    match = VERDICTS.get(text.lower())
    if match is None:
        raise BadQuery(
            f"verdict: {text[:50]!a} is none of {', '.join(action.value for action in Action)}"
        )
    return match.value


def _door(text: str) -> str:
    name = text.lower().replace("-", "_")
    match [door for door in DOORS if name and door.startswith(name)]:
        case [door]:
            return door
    raise BadQuery(f"door: {text[:50]!a} is none of {', '.join(DOORS)}")


def _client(text: str) -> str:
    if "/" in text:
        try:
            return str(ip_network(text, strict=False))
        except ValueError:
            raise BadQuery(f"client: {text[:50]!a} is no network; write 192.0.2.0/24") from None
    return text.strip("[]")


def _address(text: str) -> str:
    try:
        return str(ip_network(text.strip("[]"), strict=False))
    except ValueError:
        raise BadQuery(
            f"ip: {text[:50]!a} is no address or network; write 192.0.2.7 or 192.0.2.0/24"
        ) from None


def _domain(text: str) -> str:
    return text.strip("<>").lstrip("@.").rstrip(".")


def _bare(text: str) -> str:
    return text.strip("<>")


def _same(text: str) -> str:
    return text


_CHECKED: Final[dict[str, tuple[QueryField, Callable[[str], str]]]] = {
    "from": (QueryField.FROM, _bare),
    "to": (QueryField.TO, _bare),
    "subject": (QueryField.SUBJECT, _same),
    "domain": (QueryField.DOMAIN, _domain),
    "client": (QueryField.CLIENT, _client),
    "ip": (QueryField.CLIENT, _address),
    "helo": (QueryField.HELO, _same),
    "login": (QueryField.LOGIN, _same),
    "list": (QueryField.LIST, _bare),
    "rule": (QueryField.RULE, _same),
    "verdict": (QueryField.VERDICT, _verdict),
    "decided": (QueryField.DECIDED, _same),
    "queue": (QueryField.QUEUE, _same),
    "id": (QueryField.ID, _same),
    "message": (QueryField.MESSAGE, _same),
    "door": (QueryField.DOOR, _door),
}
"""As it is written → the field, and what its word must be."""
