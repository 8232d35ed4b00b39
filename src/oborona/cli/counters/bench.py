"""`oborona counters bench`."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click
import msgspec
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from oborona.cli.output import echo
from oborona.cli.terminal import Terminal
from oborona.counter_load import run as runs
from oborona.counter_load.report import BenchReport
from oborona.counter_load.subject import BenchSubject, LmdbSubject
from oborona.counters.durability import Durability
from oborona.counters.lmdb_store import MAP_BYTES
from oborona.counters.writer import DOORKEEPER_BYTES
from oborona.errors import StoreFull

BYTES_A_KEY: Final = 128  # of disk: pages, those a transaction copies, and spools

_WORDS: Final = {
    "adds_per_s": "adds a second, until the store had the last one",
    "messages_per_s": "messages a second, of 40 shingles",
    "read_us_p50": "read of 40 shingles, µs, half of them within",
    "read_us_p99": "99 % within",
    "lag_ms_p50": "from flush to store, ms, half of them within",
    "lag_ms_p99": "99 % within",
    "bytes_per_key": "bytes a record of pages, without the doorkeeper's table",
    "cpu_ms_per_message": "CPU ms a message, workers and writer",
}
_WORDS_OF_CLUSTER: Final = _WORDS | {
    "bytes_per_key": "bytes of memory a key, shingles seen once among them",
}


@click.command()
@click.option(
    "--store",
    type=click.Choice(["lmdb", "cluster"]),
    default="lmdb",
    show_default=True,
    help="Kind of store.",
)
@click.option(
    "--nodes",
    multiple=True,
    metavar="HOST:PORT",
    help="With --store cluster: a node of it; may be repeated. It has to be empty, and is emptied.",
)
@click.option(
    "--keys",
    type=click.IntRange(min=1000),
    default=10_000_000,
    show_default=True,
    help="That it holds at the start.",
)
@click.option(
    "--rate",
    type=click.IntRange(0, runs.MOST_ADDS),
    default=0,
    metavar="N",
    help="Adds a second; default: as many as it takes with a second's lag.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0.2, runs.MOST_SECONDS),
    default=30.0,
    show_default=True,
    help="How long to load it.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Processes that read and add.",
)
@click.option(
    "--pairs",
    type=click.IntRange(0, 16),
    default=0,
    show_default=True,
    help="Unique pairs a message, beside its shingles.",
)
@click.option(
    "--durability",
    type=click.Choice(["second", "commit", "none"]),
    default="second",
    show_default=True,
    help="As in the settings.",
)
@click.option(
    "--doorkeeper",
    type=click.IntRange(min=0),
    default=DOORKEEPER_BYTES >> 20,
    show_default=True,
    metavar="MIB",
    help=(
        "Size of the table of shingles seen once; 0: all get records. A cluster has them in "
        "its pages."
    ),
)
@click.option(
    "--directory",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help=(
        "Where the store is made, and removed; its disk is measured. Default: the temporary folder."
    ),
)
@click.option("--json", "as_json", is_flag=True, help="One line of JSON.")
def bench(
    store: str,
    nodes: tuple[str, ...],
    keys: int,
    rate: int,
    seconds: float,
    workers: int,
    pairs: int,
    durability: Durability,
    doorkeeper: int,
    directory: Path | None,
    as_json: bool,
) -> None:
    """Measure a counter store of its own with mail's mix of shingles; no other store is touched.

    A message has 40: 24 never seen before, 16 by Zipf's law over the keys that the store was filled
    with. Each is read and added in one call, flushed each 0.1 s, and applied by a writer process,
    as the service does it. Ctrl-C ends the load and reports what was measured.
    """
    if nodes and store != "cluster":
        raise click.UsageError("--nodes needs --store cluster")
    try:
        load = runs.BenchLoad(keys=keys, seconds=seconds, rate=rate, workers=workers, pairs=pairs)
    except ValueError as error:  # NaN lies in every range
        raise click.UsageError(str(error)) from None
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what it made is removed
    with tempfile.TemporaryDirectory(prefix="oborona-bench-", dir=directory) as folder:
        subject: BenchSubject
        if store == "cluster":
            subject = _cluster(f"{folder}/counters", nodes, durability, doorkeeper=bool(doorkeeper))
        else:
            room = os.statvfs(folder)
            if room.f_bavail * room.f_frsize < keys * BYTES_A_KEY:
                raise StoreFull(
                    f"{folder} has not the {keys * BYTES_A_KEY >> 20} MiB that {keys} keys may take"
                )
            subject = LmdbSubject(
                directory=f"{folder}/counters",
                durability=durability,
                doorkeeper_bytes=doorkeeper << 20,
                map_bytes=MAP_BYTES + 2 * keys * BYTES_A_KEY,
            )
        with _progress() as progress:
            report = runs.run(subject, load, progress)
    if as_json:
        echo(msgspec.json.encode(report))
    else:
        Terminal().print(_table(report))


def _cluster(
    directory: str, nodes: tuple[str, ...], durability: Durability, *, doorkeeper: bool
) -> BenchSubject:
    from oborona.counter_load.cluster import ClusterSubject  # noqa: PLC0415 - asked for by few
    from oborona.counters.cluster.wire import ClusterAccess, NodeAddress  # noqa: PLC0415

    try:
        access = ClusterAccess(nodes=tuple(map(NodeAddress.parse, nodes)))
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    if not nodes:
        raise click.UsageError("--store cluster needs --nodes")
    return ClusterSubject(
        directory=directory, access=access, durability=durability, doorkeeper=doorkeeper
    )


@contextmanager
def _progress() -> Iterator[runs.Progress]:
    """Give a bar on standard error; nothing is shown where that is no terminal."""
    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda doing, share: bar.update(task, description=doing, completed=share)


def _table(report: BenchReport) -> Table:
    shown = Table(
        title=(
            f"{report.store}, {report.keys:,} keys, workers: {report.workers}, "
            f"{report.messages:,} messages in {report.seconds} s"
        )
        + (", interrupted" if report.interrupted else ""),
        show_header=False,
    )
    shown.add_column()
    shown.add_column(justify="right")
    for name, words in (_WORDS_OF_CLUSTER if report.store == "cluster" else _WORDS).items():
        shown.add_row(words, f"{getattr(report, name):,}")
    return shown
