"""What a daemon has of the mail it acknowledged, looked up in its stores once it has stopped."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from oborona import state_files
from oborona.counters.readonly import open_reader
from oborona.ident import from_text
from oborona.journal.queries import JournalReader
from oborona.journal.rows import unpack_shingles
from oborona.message.hashing import ShingleType
from oborona.types import Metric, Shingle, Window
from tests.whole.next_hop import Copy

_REFUSED: Final = re.compile(r"refused as spam, reference ([0-9A-Z]{13})")


class Letter(NamedTuple):
    """A message that the first Postfix has taken."""

    number: int
    recipient: str
    kind: str


class Said(NamedTuple):
    """A complaint that the intake has written down."""

    number: int
    ident: str


class Found(NamedTuple):
    """What is there of what was acknowledged."""

    letters: int
    acknowledged: int  # messages that were given an id, and passed or were refused
    unanswered: int  # judged, journaled, and killed before the answer: the mail server came again
    delivered: int
    said: int  # complaints
    missing: dict[str, int]  # by what; all are to be 0
    twice: dict[str, int]
    filed: list[Copy]  # though a reader's list lets them through

    @property
    def sound(self) -> bool:
        """Whether nothing is missing and nothing there twice."""
        return not any(self.missing.values()) and not any(self.twice.values())

    def told(self) -> str:
        """Return it in lines."""
        return (
            f"{self.letters} letters, {self.acknowledged} acknowledged, {self.delivered} "
            f"delivered, {self.said} complaints,"
            f" {self.unanswered} judged and not answered\n  missing: {self.missing}\n  twice:   "
            f"{self.twice}" + "".join(f"\n  {one}" for one in self.filed[:5])
        )


def looked(
    state: Path,
    log: str,
    copies: Sequence[Copy],
    letters: Sequence[Letter],
    said: Sequence[Said],
    allowed: str,
) -> Found:
    """Return what is there.

    Args:
        state: folder of the stores, of a daemon that has stopped.
        log: of Postfix.
        copies: that were delivered.
        letters: that were sent.
        said: complaints that were written down.
        allowed: a recipient whose list lets everything through that a journal entry proves.
    """
    passed = {_ident(one.ident): one for one in copies if one.ident}
    refused = {_ident(text) for text in _REFUSED.findall(log)}
    with closing(sqlite3.connect(state / state_files.JOURNAL)) as db:
        journal = dict(db.execute("SELECT id, message_id FROM verdict").fetchall())
        pieces = dict(db.execute("SELECT id, shingles FROM evidence").fetchall())
        went = {(number, to) for number, to in db.execute("SELECT id, recipient FROM went")}
        whole = db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        tally = db.execute("SELECT rows FROM tally").fetchone() == (len(journal),)
    acknowledged = passed.keys() | refused
    there = acknowledged & journal.keys()
    answered = Counter(journal[one] for one in there)
    judged = Counter(journal.values())
    filed = [
        one
        for one in copies
        if one.recipient == allowed and (one.label != "Ok" or "PERSONAL" not in one.reason)
    ]
    filed = [
        one
        for one in filed
        if _ident(one.ident) not in journal or asyncio.run(_proved(state, _ident(one.ident)))
    ]
    seen = asyncio.run(_seen(state, {journal[one]: pieces[one] for one in there}))
    arrived = {one.number for one in copies} | {
        int(journal[one].strip("<>").partition("@")[0]) for one in refused & there
    }
    with closing(sqlite3.connect(state / state_files.EVENTS)) as db:
        events = db.execute("SELECT ident, decided, rules, done < turn FROM event").fetchall()
    heard = Counter(ident for ident, *_ in events)
    return Found(
        letters=len(letters),
        acknowledged=len(acknowledged),
        unanswered=len(journal) - len(there),
        delivered=len(copies),
        said=len(said),
        missing={
            "letters": sum(one.number not in arrived for one in letters),
            "ids on what was delivered": sum(not one.ident for one in copies),
            "journal entries": len(acknowledged - journal.keys()),
            "counts": sum(
                max(0, number - seen[name]) for name, number in answered.items() if name in seen
            ),
            "places of copies": sum(
                (ident, one.recipient) not in went for ident, one in passed.items()
            ),
            "verdicts of a reader's list": len(filed),
            "complaints": sum(not heard[_ident(one.ident)] for one in said),
            "decisions on complaints": sum(
                decided is None or undone for _, decided, _, undone in events
            ),
            "messages that complaints are about": sum(
                "UNREADABLE" in rules for _, _, rules, _ in events
            ),
            "a whole journal": int(not whole) + int(not tally),
        },
        twice={
            "counts": sum(max(0, seen[name] - judged[name]) for name in seen),
            "complaints": len(events) - len({one.number for one in said}) if said else 0,
        },
        filed=filed,
    )


def decided(state: Path) -> bool:
    """Tell whether all that was said is decided, and what follows is done."""
    with closing(sqlite3.connect(state / state_files.EVENTS)) as db:
        (open_,) = db.execute(
            "SELECT count(*) FROM event WHERE decided IS NULL OR done < turn"
        ).fetchone()
    return bool(open_ == 0)


def _ident(text: str) -> int:
    ident = from_text(text.partition(".")[0])
    assert ident is not None, text
    return ident


async def _proved(state: Path, ident: int) -> bool:
    """Tell whether an entry knows who wrote the message: a busy machine's DNS may have been
    late.
    """
    async with await JournalReader.open(state / state_files.JOURNAL) as journal:
        entry = await journal.get(ident)
    return entry is not None and bool(entry.facts.get("author"))


async def _seen(state: Path, pieces: dict[str, bytes]) -> dict[str, int]:
    """Return how often the sender of each message, which is its own, was counted."""
    senders: dict[str, Shingle] = {}
    for name, octets in pieces.items():
        found = [one for one in unpack_shingles(octets) if one.type == ShingleType.MAIL_FROM]
        if found:  # else two workers died over it, and it was set apart without being looked into
            (senders[name],) = found
    with open_reader(state / "counters") as counters:
        totals = await counters.read(list(senders.values()), time.time())
    return {
        name: row[Window.FORTNIGHT][Metric.SEEN] for name, row in zip(senders, totals, strict=True)
    }
