"""Histories as tables: read, counted in real counters, and laid out for what judges them
(tests/golden/reputation/README.md).
"""

import re
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from oborona.counters.memory import MemoryCounters
from oborona.counters.window import BUCKET_S, BUCKETS_A_DAY, DAY_S, bucket_of
from oborona.message.hashing import Hasher, ShingleType
from oborona.message.unique_pairs import entity_recipients
from oborona.policy.counts import MessageCounts
from oborona.policy.facts import Facts
from oborona.policy.histories import Histories, judge_histories
from oborona.policy.reputation_facts import ReputationInputs, with_reputation
from oborona.reputation.address import RepIP
from oborona.reputation.flag import ReputationFlag
from oborona.reputation.timeline import EntityHistory, entity_history
from oborona.types import Amounts, CountedPieces, CounterPrefix, ProvedIdentity, Shingle

FOLDER: Final = Path(__file__).parents[1] / "golden" / "reputation"
NOW: Final = datetime(2026, 3, 4, 15, 25, tzinfo=UTC)  # a Wednesday
WHOLE: Final = 3  # buckets of mail that is sent at a time of day
COARSE: Final = 12  # buckets between the mail of days of which only the sum is kept

HASHER: Final = Hasher(b"a secret of histories")


class Piece(NamedTuple):
    """What is counted of a message."""

    kind: ShingleType
    text: str

    @property
    def shingle(self) -> Shingle:
        """Under which it is counted."""
        return HASHER.shingle(self.kind, self.text)


class Subject(NamedTuple):
    """Who or what a history is about."""

    own: Piece
    around: Piece
    who: ProvedIdentity = ProvedIdentity()  # of its messages


ANNA: Final = ProvedIdentity(author="anna@example.org", author_domain="example.org")
SUBJECTS: Final = {
    "address": Subject(
        Piece(ShingleType.CLIENT_IP, "192.0.2.7"), Piece(ShingleType.CLIENT_NETWORK, "192.0.2.0/24")
    ),
    "author": Subject(
        Piece(ShingleType.AUTHOR, ANNA.author),
        Piece(ShingleType.AUTHOR_DOMAIN, ANNA.author_domain),
        ANNA,
    ),
    "domain": Subject(
        Piece(ShingleType.AUTHOR_DOMAIN, ANNA.author_domain),
        Piece(ShingleType.AS_NUMBER, "64496"),
        ANNA,
    ),
    "account": Subject(
        Piece(ShingleType.ACCOUNT, "anna"),
        Piece(ShingleType.HELO, "nothing"),
        ProvedIdentity(account="anna"),
    ),
    "link": Subject(
        Piece(ShingleType.LINK_DOMAIN, "example.net"), Piece(ShingleType.HELO, "nothing")
    ),
}
"""What each kind of entity is counted under; there is nothing around accounts and links."""

METRICS: Final = {"mail": "seen", "spam": "spam", "complaint": "complaints", "pardon": "pardons",
                  "read": "reads", "trap": "traps"}  # fmt: skip
BESIDE: Final = {
    "refused": CounterPrefix.REFUSED,
    "first": CounterPrefix.FIRST,
    "deleted": CounterPrefix.DELETED,
}
DISTINCT: Final = {"recipient": 1, "sender": 2}

_WHEN: Final = re.compile(
    r"(?:(?P<hours>\d+)h|(?P<minutes>\d+)m|(?P<days>-?\d+(?:, "
    r"?-?\d+)*)|(?P<first>-\d+)\.\.(?P<last>-?\d+)(?:/(?P<step>\d+))?)"
    r"(?: (?P<clock>\d\d:\d\d))?"
)
_MANY: Final = re.compile(r"(\d+) ([a-z]+?)s?")


class History(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One table."""

    what: str
    entity: str
    own: list[str]
    flag: ReputationFlag | list[ReputationFlag]
    trust: tuple[float, float]
    karma: tuple[int, int]
    because: str
    around: list[str] = []
    now: datetime = NOW
    repip: ReputationFlag | list[ReputationFlag] | None = None
    repip_is: ReputationFlag | None = None  # where connect is known to say something else
    says: list[str] = []
    never: list[str] = []

    @property
    def flags(self) -> list[ReputationFlag]:
        """Any of these is right."""
        return self.flag if isinstance(self.flag, list) else [self.flag]

    @property
    def repips(self) -> list[ReputationFlag]:
        """The same at connect."""
        return self.repip if isinstance(self.repip, list) else [self.repip] if self.repip else []


class Counted(NamedTuple):
    """What the counters say of an entity."""

    past: EntityHistory
    around: EntityHistory
    repip: RepIP  # at connect
    karma: int  # of a message with nothing else to it


def histories() -> list[History]:
    """Return all tables."""
    tables: list[Any] = []
    for file in sorted(FOLDER.glob("*.toml")):
        tables.extend(tomllib.loads(file.read_text())["history"])
    return msgspec.convert(tables, list[History])


async def counted(history: History) -> Counted:
    """Count what happened, and read it back."""
    counters, now, subject = MemoryCounters(), history.now.timestamp(), SUBJECTS[history.entity]
    for event in history.own:
        _count(counters, event, (subject.own, subject.around), now)
    for event in history.around:
        _count(counters, event, (subject.around,), now)
    own, around = [await _past(counters, piece, now) for piece in (subject.own, subject.around)]
    asked = [subject.own.shingle, subject.around.shingle]
    if history.entity == "address":
        asked.append(_distinct(subject.own, "sender"))
    known = MessageCounts(asked, await counters.read(asked, now))
    judgements, faults = await judge_histories(
        counters, known, subject.who, HASHER, Histories(), now=now
    )
    assert not faults
    seen = ReputationInputs(subject.who, HASHER, judgements=judgements)
    facts = with_reputation(Facts(known=known, links_domains=frozenset({"example.net"})), seen)
    return Counted(own, around, known.repip(), int(facts.karma))


async def _past(counters: MemoryCounters, piece: Piece, now: float) -> EntityHistory:
    (line,) = await counters.timelines([piece.shingle], now)
    beside = {
        name: (await counters.timelines([piece.shingle], now, prefix))[0]
        for name, prefix in BESIDE.items()
    }
    (recipients,) = await counters.timelines([_distinct(piece, "recipient")], now)
    return entity_history(line, recipients=recipients, **beside)


def _count(counters: MemoryCounters, event: str, whose: tuple[Piece, ...], now: float) -> None:
    when, _, what = event.partition(": ")
    for moments in _moments(when, now):
        for part in what.split(", "):
            found = _MANY.fullmatch(part)
            assert found, f"{part!r} in {event!r} says no amount"
            number, noun = int(found[1]), found[2]
            for place, moment in enumerate(moments):
                some = number * (place + 1) // len(moments) - number * place // len(moments)
                if some:
                    _add(counters, noun, some, whose, moment)


def _add(
    counters: MemoryCounters, noun: str, some: int, whose: tuple[Piece, ...], moment: float
) -> None:
    if noun in METRICS:
        pieces = tuple(one.shingle for one in whose)
        counters.add(
            CountedPieces(shingles=pieces, pairs=()), Amounts(**{METRICS[noun]: some}), moment
        )
    elif noun in BESIDE:
        pieces = tuple(one.shingle for one in whose)
        counters.add(
            CountedPieces(shingles=pieces, pairs=()), Amounts(seen=some), moment, BESIDE[noun]
        )
    else:
        pieces = tuple(_distinct(one, noun) for one in whose)
        counters.add(CountedPieces(shingles=pieces, pairs=()), Amounts(seen=some), moment)


def _distinct(piece: Piece, noun: str) -> Shingle:
    """The shingle that counts distinct ones.

    That a pair counts once a day is the store's part, and tested there.
    """
    if noun == "sender":
        return HASHER.shingle(ShingleType.IP_SENDERS, piece.text)
    assert noun == "recipient", f"{noun!r} is nothing that is counted"
    return entity_recipients(HASHER, piece.kind, piece.text)


def _moments(when: str, now: float) -> Iterator[list[float]]:
    """Yield for each period the moments over which its mail is spread."""
    found = _WHEN.fullmatch(when)
    assert found, f"{when!r} is no time"
    if found["hours"] or found["minutes"]:
        last = bucket_of(now)
        some = int(found["hours"]) * 6 if found["hours"] else int(found["minutes"]) // 10
        yield [bucket * BUCKET_S for bucket in range(last - some + 1, last + 1)]
        return
    if found["days"]:
        days = [int(day) for day in found["days"].split(",")]
    else:
        days = list(range(int(found["first"]), int(found["last"]) + 1, int(found["step"] or 1)))
    midnight = now // DAY_S * DAY_S
    for day in days:
        assert -13 <= day <= 0, f"nobody remembers day {day}"
        start = midnight + day * DAY_S
        if found["clock"]:
            hours, _, minutes = found["clock"].partition(":")
            begin = start + int(hours) * 3600 + int(minutes) * 60
            moments = [begin + step * BUCKET_S for step in range(WHOLE)]
        else:
            moments = [
                start + step * BUCKET_S
                for step in range(0, BUCKETS_A_DAY, 1 if day >= -1 else COARSE)
            ]
        yield [moment for moment in moments if moment <= now]
