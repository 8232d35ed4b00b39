"""`oborona counters stats`."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import click
import msgspec
from rich.table import Table

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo
from oborona.cli.shingle import type_name
from oborona.cli.terminal import Terminal
from oborona.counters.cluster.stats import ClusterStats
from oborona.counters.stats import StoreStats
from oborona.stores.counters import store_stats


@click.command()
@click.option("--types", is_flag=True, help="Also read the whole store: what does each type take?")
@click.option("--json", "as_json", is_flag=True, help="The same as one JSON object.")
@pass_cli_context
def stats(context: CliContext, types: bool, as_json: bool) -> None:
    """Show what the counter store holds, who writes it, and what waits in the spools.

    Of a cluster: its nodes, and what waits on this machine to be sent.
    """
    now = time.time()
    found = store_stats(context.loaded.settings, context.state, now, types=types)
    if as_json:
        echo(msgspec.json.encode(found))
        return
    terminal = Terminal(soft_wrap=True)
    about = Table.grid(padding=(0, 2))
    for what, words in _about(found) if isinstance(found, StoreStats) else _on_its_way(found):
        about.add_row(what, words)
    terminal.print(about, highlight=False)
    if isinstance(found, ClusterStats):
        terminal.print(_nodes(found))
    if found.spools:
        spools = Table("spool", show_edge=False)
        for name in ("files", "waits", "oldest"):
            spools.add_column(name, justify="right")
        for one in found.spools:
            oldest = f"{now - one.oldest:.1f} s" if one.oldest is not None else ""
            spools.add_row(one.owner, str(one.files), size(one.bytes), oldest)
        terminal.print(spools)
    if isinstance(found, StoreStats) and found.types is not None:
        shares = Table("", "type", show_edge=False)
        for name in ("records", "bytes", "a record"):
            shares.add_column(name, justify="right")
        for share in sorted(found.types, key=lambda one: -one.bytes):
            each = f"{share.bytes / share.records:.1f}"
            shares.add_row(
                share.prefix, type_name(share.type), f"{share.records:,}", size(share.bytes), each
            )
        terminal.print(shares)


def _about(found: StoreStats) -> list[tuple[str, str]]:
    pages = found.pages
    newest = found.newest
    return [
        ("store", f"{found.directory}, version {found.version}"),
        ("written by", found.writer or "nobody now"),
        ("records", f"{found.records:,}"),
        ("used", (f"{size(found.used_bytes)} of {size(found.file_bytes)}, {size(found.free_bytes)} "
            f"free to be used again")),
        ("map", f"{size(found.map_bytes)}; it grows by itself"),
        ("pages", (f"{pages.leaf:,} leaf, {pages.branch:,} branch, {pages.overflow:,} overflow of "
            f"{pages.bytes} bytes; depth {pages.depth}")),
        ("newest bucket", f"{datetime.fromtimestamp(newest, UTC):%Y-%m-%d %H:%M} UTC" if newest is not None else "none"),
        ("doorkeeper", f"room for {found.doorkeeper_slots:,} seen once" if found.doorkeeper_slots else "off"),
        ("waiting", _waiting(found)),
    ]  # fmt: skip


def _on_its_way(found: ClusterStats) -> list[tuple[str, str]]:
    outbox = found.outbox
    return [
        ("store", f"a cluster; spools and outbox are in {found.directory}"),
        ("sent by", found.writer or "nobody now"),
        ("outbox", (f"{outbox.unsent_steps:,} steps unsent, {size(outbox.unsent_bytes)}; "
            f"{outbox.steps:,} kept, {size(outbox.bytes)}")),
        ("waiting", _waiting(found)),
    ]  # fmt: skip


def _waiting(found: StoreStats | ClusterStats) -> str:
    spools = f"{len(found.spools)} {'spool' if len(found.spools) == 1 else 'spools'}"
    return f"{size(found.waiting_bytes)} in {spools}, the oldest {found.lag_s:.1f} s old"


def _nodes(found: ClusterStats) -> Table:
    nodes = Table("node", "role", show_edge=False)
    for name in ("slots", "memory", "pages"):
        nodes.add_column(name, justify="right")
    nodes.add_column("")
    for one in found.nodes:
        memory = size(one.memory_bytes) if one.memory_bytes is not None else ""
        pages = f"{one.pages:,}" if one.pages is not None else ""
        nodes.add_row(
            one.address, one.role, f"{one.slots:,}", memory, pages, one.trouble or "answers"
        )
    return nodes


def size(number: int) -> str:
    """Return bytes as people read them."""
    return f"{number / (1 << 20):,.1f} MiB" if number >= 1 << 20 else f"{number / 1024:,.1f} KiB"
