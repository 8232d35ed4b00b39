"""A state folder whose counters remember entities and whose journal names them, for tests of
`oborona reputation`.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from click.testing import CliRunner, Result

from oborona import secret
from oborona.cli import main
from oborona.counters.store import LmdbCounters
from oborona.counters.writer import LmdbCounterWriter
from oborona.desk.reputation.entity import entity_named
from oborona.ident import JournalIdGenerator, to_text
from oborona.journal.entry import JournalEntry
from oborona.journal.journal import JournalWriter
from oborona.message.shingles import Hasher
from oborona.policy.memory_age import ALL_MAIL
from oborona.types import Action, Amounts, CountedPieces, CounterPrefix, Shingle

DAY_S = 86_400


class Happened(NamedTuple):
    """What was counted of an entity."""

    entity: str
    amounts: Amounts
    ago_s: float = 600.0
    prefix: CounterPrefix = CounterPrefix.IN


def hasher(state: Path) -> Hasher:
    secret.make(state)
    return Hasher(secret.load(state).shingles)


def remember(state: Path, happened: Iterable[Happened]) -> None:
    """Count what happened, as worker and writer do."""
    state.mkdir(exist_ok=True)
    keyed, now = hasher(state), time.time()
    writer = LmdbCounterWriter(state / "counters")
    worker = LmdbCounters(state / "counters", "worker-0", environment=writer.environment)
    for one in happened:
        pieces = CountedPieces(shingles=(entity_named(one.entity, keyed).shingle,), pairs=())
        worker.add(pieces, one.amounts, now - one.ago_s, one.prefix)
    worker.close()
    writer.step(time.time())
    writer.keep_top()
    writer.close()


def aged(state: Path) -> None:
    """Let the counters reach back twelve days, where no daemon runs."""
    writer = LmdbCounterWriter(state / "counters")
    worker = LmdbCounters(state / "counters", "worker-9", environment=writer.environment)
    worker.add(
        CountedPieces(shingles=(ALL_MAIL,), pairs=()), Amounts(seen=1), time.time() - 12 * 86_400
    )
    worker.close()
    writer.step(time.time())
    writer.close()


def bring_in(state: Path) -> None:
    """Bring what commands have spooled into the store."""
    writer = LmdbCounterWriter(state / "counters")
    writer.step(time.time())
    writer.close()


def entry(number: int, **more: object) -> JournalEntry:
    """A journal entry of a moment ago."""
    given = {
        "verdict": Action.ACCEPT,
        "score": 0.0,
        "line": 100.0,
        "decided_by": "below-threshold",
    } | more
    return JournalEntry(id=number, time=time.time() - 60, **given)  # type: ignore[arg-type]


def journal(state: Path, entries: Iterable[dict[str, object]]) -> list[str]:
    """Journal messages; return their ids."""

    async def write() -> list[str]:
        numbers, found = JournalIdGenerator(), []
        async with await JournalWriter.open(state / "journal.db") as written:
            for one in entries:
                number = numbers.next(time.time() - 60)
                written.append(entry(number, **one))
                found.append(to_text(number))
        return found

    state.mkdir(exist_ok=True)
    return asyncio.run(write())


def shingle(state: Path, text: str) -> Shingle:
    return entity_named(text, hasher(state)).shingle


def run(state: Path, *words: object, status: int = 0, stdin: str | bytes = "") -> Result:
    """Run `oborona reputation`."""
    told = [
        "--state",
        os.fspath(state),
        "--set",
        "site.name=mx.test",
        "reputation",
        *map(str, words),
    ]
    result = CliRunner().invoke(main, told, input=stdin, catch_exceptions=False)
    assert result.exit_code == status, (result.output, result.stderr)
    return result
