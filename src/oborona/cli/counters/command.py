"""`oborona counters`: the group, and `show`."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.counters.bench import bench
from oborona.cli.counters.maintenance import compact, forget, verify
from oborona.cli.counters.stats import stats
from oborona.cli.counters.top import top
from oborona.cli.mailboxes import messages
from oborona.cli.output import echo
from oborona.cli.shingle import of_service, shingle_of
from oborona.counters.cluster.reader import ClusterReader
from oborona.counters.readonly import ReadOnlyCounters
from oborona.counters.timeline_chart import picture
from oborona.message.parse import parse
from oborona.message.shingle_name import name_of
from oborona.message.shingles import Hasher, shingles
from oborona.policy.counts import shingles_to_read
from oborona.stores.counters import open_readonly
from oborona.types import CounterPrefix, Envelope, Metric, Shingle, Window


@click.group()
def counters() -> None:
    """Show what is counted, and check, compact and measure the counter store."""


for command in (top, stats, verify, compact, forget, bench):
    counters.add_command(command)


@counters.command()
@click.argument("what", metavar="SHINGLE|FILE")
@click.option(
    "--all", "every", is_flag=True, help="Of a file: also the hashes that were never seen."
)
@of_service
@pass_cli_context
def show(context: CliContext, what: str, every: bool, prefix: str) -> None:
    """Draw the counts over time of a shingle (hash of a part of a message), or of each shingle of a
    message file.

    A shingle is TYPE:HASH as `check --json` and `explain` print them, such as from:00ff00ff00ff00ff
    or 14:00ff00ff00ff00ff.
    """
    shingle, path = shingle_of(what), Path(what)
    if shingle is None and not os.path.lexists(path):
        raise click.BadParameter(f"{what!r} is neither TYPE:HASH nor a file")
    with open_readonly(context.loaded.settings, context.state) as store:
        if shingle is not None:
            _draw(store, [shingle], CounterPrefix(prefix), every=True)
            return
        hasher, regions = (
            Hasher(context.keys().shingles),
            tuple(context.loaded.settings.site.regions.split()),
        )
        for source in messages(path):
            echo(source.name)
            pieces = list(
                shingles_to_read(shingles(parse(source.raw, regions=regions), Envelope(), hasher))
            )
            _draw(store, pieces, CounterPrefix(prefix), every=every)


def _draw(
    store: ReadOnlyCounters | ClusterReader,
    drawn: list[Shingle],
    prefix: CounterPrefix,
    *,
    every: bool,
) -> None:
    now = time.time()

    async def draw() -> None:
        rows = await store.read(drawn, now, prefix)
        unseen = 0
        for shingle, row in zip(drawn, rows, strict=True):
            if not every and not row[Window.FORTNIGHT][Metric.SEEN]:
                unseen += 1
                continue
            [line] = await store.timelines([shingle], now, prefix)
            echo(picture(line, now, name_of(shingle)))
        if unseen:
            echo(f"{unseen} hashes were not seen in two weeks")

    asyncio.run(draw())
