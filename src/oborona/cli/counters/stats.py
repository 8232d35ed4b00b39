"""`oborona counters stats`."""

from __future__ import annotations

from datetime import UTC, datetime

import click
import msgspec
from rich.table import Table

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo
from oborona.cli.terminal import Terminal
from oborona.cli.terminal_person import terminal_caller
from oborona.counters.cluster.stats import ClusterStats
from oborona.counters.stats import StoreStats
from oborona.desk.asks.counter_store import CounterStoreQuestion, show_store
from oborona.desk.octets import size
from oborona.message.shingle_name import type_name


@click.command()
@click.option("--types", is_flag=True, help="Also read the whole store: what does each type take?")
@click.option("--json", "as_json", is_flag=True, help="The same as one JSON object.")
@pass_cli_context
def stats(context: CliContext, types: bool, as_json: bool) -> None:
    """Show what the counter store holds, who writes it, and what waits in the spools.

    Of a cluster: its nodes, and what waits on this machine to be sent.
    """
    state = show_store(context, terminal_caller(), CounterStoreQuestion(types=types))
    if as_json:
        echo(msgspec.json.encode(state.store))
        return
    report = (
        msgspec.convert(state.store, ClusterStats)
        if state.cluster
        else msgspec.convert(state.store, StoreStats)
    )
    terminal = Terminal(soft_wrap=True)
    about = Table.grid(padding=(0, 2))
    for label, words in (
        _about(report) if isinstance(report, StoreStats) else _about_cluster(report)
    ):
        about.add_row(label, words)
    terminal.print(about, highlight=False)
    if isinstance(report, ClusterStats):
        terminal.print(_nodes(report))
    if report.spools:
        spools = Table("spool", show_edge=False)
        for name in ("files", "waits", "oldest"):
            spools.add_column(name, justify="right")
        for spool in report.spools:
            oldest = f"{state.now - spool.oldest:.1f} s" if spool.oldest is not None else ""
            spools.add_row(spool.owner, str(spool.files), size(spool.bytes), oldest)
        terminal.print(spools)
    if isinstance(report, StoreStats) and report.types is not None:
        shares = Table("", "type", show_edge=False)
        for name in ("records", "bytes", "a record"):
            shares.add_column(name, justify="right")
        for share in sorted(report.types, key=lambda share: -share.bytes):
            average = f"{share.bytes / share.records:.1f}"
            shares.add_row(
                share.prefix,
                type_name(share.type),
                f"{share.records:,}",
                size(share.bytes),
                average,
            )
        terminal.print(shares)


def _about(report: StoreStats) -> list[tuple[str, str]]:
    pages = report.pages
    newest = report.newest
    return [
        ("store", f"{report.directory}, version {report.version}"),
        ("written by", report.writer or "nobody now"),
        ("records", f"{report.records:,}"),
        ("used", (f"{size(report.used_bytes)} of {size(report.file_bytes)}, {size(report.free_bytes)} "
            f"free to be used again")),
        ("map", f"{size(report.map_bytes)}; it grows by itself"),
        ("pages", (f"{pages.leaf:,} leaf, {pages.branch:,} branch, {pages.overflow:,} overflow of "
            f"{pages.bytes} bytes; depth {pages.depth}")),
        ("newest bucket", f"{datetime.fromtimestamp(newest, UTC):%Y-%m-%d %H:%M} UTC" if newest is not None else "none"),
        ("doorkeeper", f"room for {report.doorkeeper_slots:,} seen once" if report.doorkeeper_slots else "off"),
        ("waiting", _waiting(report)),
    ]  # fmt: skip


def _about_cluster(report: ClusterStats) -> list[tuple[str, str]]:
    outbox = report.outbox
    return [
        ("store", f"a cluster; spools and outbox are in {report.directory}"),
        ("sent by", report.writer or "nobody now"),
        ("outbox", (f"{outbox.unsent_steps:,} steps unsent, {size(outbox.unsent_bytes)}; "
            f"{outbox.steps:,} kept, {size(outbox.bytes)}")),
        ("waiting", _waiting(report)),
    ]  # fmt: skip


def _waiting(report: StoreStats | ClusterStats) -> str:
    spools = f"{len(report.spools)} {'spool' if len(report.spools) == 1 else 'spools'}"
    return f"{size(report.waiting_bytes)} in {spools}, the oldest {report.lag_s:.1f} s old"


def _nodes(report: ClusterStats) -> Table:
    nodes = Table("node", "role", show_edge=False)
    for name in ("slots", "memory", "pages"):
        nodes.add_column(name, justify="right")
    nodes.add_column("")
    for node in report.nodes:
        memory = size(node.memory_bytes) if node.memory_bytes is not None else ""
        pages = f"{node.pages:,}" if node.pages is not None else ""
        nodes.add_row(
            node.address, node.role, f"{node.slots:,}", memory, pages, node.trouble or "answers"
        )
    return nodes
