"""`oborona counters`: the group, and `show`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.counters.bench import bench
from oborona.cli.counters.maintenance import compact, forget, verify
from oborona.cli.counters.stats import stats
from oborona.cli.counters.top import top
from oborona.cli.mailboxes import messages
from oborona.cli.output import echo
from oborona.cli.shingle import of_service
from oborona.cli.terminal_person import terminal_caller
from oborona.counters.timeline_chart import picture
from oborona.desk.asks.counters import (
    CounterPast,
    CounterQuestion,
    counter_pasts,
    show_counter,
)
from oborona.desk.shingle import shingle_of
from oborona.message.parse import parse
from oborona.message.shingles import Hasher, shingles
from oborona.policy.counts import shingles_to_read
from oborona.stores.counters import open_readonly
from oborona.types import CounterPrefix, Envelope


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
    path = Path(what)
    if shingle_of(what) is not None:
        question = CounterQuestion(shingle=what, prefix=CounterPrefix(prefix))
        _draw([show_counter(context, terminal_caller(), question)])
        return
    if not os.path.lexists(path):
        raise click.BadParameter(f"{what!r} is neither TYPE:HASH nor a file")
    with open_readonly(context.loaded.settings, context.state) as store:
        hasher, regions = (
            Hasher(context.keys().shingles),
            tuple(context.loaded.settings.site.regions.split()),
        )
        for source in messages(path):
            echo(source.name)
            pieces = list(
                shingles_to_read(shingles(parse(source.raw, regions=regions), Envelope(), hasher))
            )
            pasts, unseen = counter_pasts(store, pieces, CounterPrefix(prefix), every=every)
            _draw(pasts)
            if unseen:
                echo(f"{unseen} hashes were not seen in two weeks")


def _draw(pasts: Iterable[CounterPast]) -> None:
    for past in pasts:
        echo(picture(past.line, past.now, past.shingle))
