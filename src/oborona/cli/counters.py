"""`oborona counters show`."""

from __future__ import annotations

import asyncio
import os
import re
import time
from pathlib import Path
from typing import Final

import click

from oborona.cli.asked import Asked, pass_asked
from oborona.cli.mailboxes import messages
from oborona.cli.output import echo
from oborona.counters.picture import picture
from oborona.counters.store import StoredCounters, open_reader
from oborona.message.parse import parse
from oborona.message.shingles import Hasher, Type, shingles
from oborona.milter.worker import COUNTERS
from oborona.policy.known import asked as pieces_asked
from oborona.types import Envelope, Metric, Shingle, Window

_SHINGLE: Final = re.compile(r"([a-z_]+|\d{1,2})[:=/]([0-9a-f]{16})", re.IGNORECASE)


@click.group()
def counters() -> None:
    """Look at what is counted."""


@counters.command()
@click.argument("what", metavar="SHINGLE|FILE")
@click.option("--all", "every", is_flag=True, help="Of a file: also the pieces that were never seen.")
@pass_asked
def show(asked: Asked, what: str, every: bool) -> None:
    """Draw the time-line of a shingle, or of each piece of a message file.

    A shingle is TYPE:HASH as `check --json` and `explain` print them, such as from:00ff00ff00ff00ff or 14:00ff00ff00ff00ff.
    """
    store = open_reader(asked.state / COUNTERS)
    with store:
        found = _SHINGLE.fullmatch(what)
        if found is not None:
            _draw(store, [Shingle(_type(found[1]), int(found[2], 16))], every=True)
            return
        path = Path(what)
        if not os.path.lexists(path):
            raise click.BadParameter(f"{what!r} is neither TYPE:HASH nor a file")
        hasher = Hasher(asked.keys().shingles)
        for source in messages(path):
            echo(source.name)
            _draw(store, list(pieces_asked(shingles(parse(source.raw), Envelope(), hasher))), every=every)


def _type(text: str) -> Type:
    try:
        return Type(int(text)) if text.isdigit() else Type[text.upper()]
    except (KeyError, ValueError):
        names = ", ".join(kind.name.lower() for kind in Type)
        raise click.BadParameter(f"no type {text!r}; there are {names}") from None


def _draw(store: StoredCounters, wanted: list[Shingle], *, every: bool) -> None:
    now = time.time()

    async def draw() -> None:
        rows = await store.read(wanted, now)
        unseen = 0
        for shingle, row in zip(wanted, rows, strict=True):
            if not every and not row[Window.FORTNIGHT][Metric.SEEN]:
                unseen += 1
                continue
            title = f"{Type(shingle.type).name.lower()}:{shingle.hash:016x}"
            echo(picture(await store.timeline(shingle, now), now, title))
        if unseen:
            echo(f"{unseen} pieces were not seen in two weeks")

    asyncio.run(draw())
