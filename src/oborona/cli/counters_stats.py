"""`oborona counters stats`."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import click
import msgspec
from rich.table import Table

from oborona.cli.asked import Asked, pass_asked
from oborona.cli.output import echo
from oborona.cli.shingle import type_name
from oborona.cli.terminal import Terminal
from oborona.counters.stats import Stats, look
from oborona.milter.stores import COUNTERS


@click.command()
@click.option("--types", is_flag=True, help="Also read the whole store: what does each type take?")
@click.option("--json", "as_json", is_flag=True, help="The same as one JSON object.")
@pass_asked
def stats(asked: Asked, types: bool, as_json: bool) -> None:
    """Show what the counter store holds, who writes it, and what waits in the spools."""
    now = time.time()
    found = look(asked.state / COUNTERS, now, types=types)
    if as_json:
        echo(msgspec.json.encode(found))
        return
    terminal = Terminal(soft_wrap=True)
    about = Table.grid(padding=(0, 2))
    for what, words in _about(found):
        about.add_row(what, words)
    terminal.print(about, markup=False, highlight=False)
    if found.spools:
        spools = Table("spool", show_edge=False)
        for name in ("files", "waits", "oldest"):
            spools.add_column(name, justify="right")
        for one in found.spools:
            oldest = f"{now - one.oldest:.1f} s" if one.oldest is not None else ""
            spools.add_row(one.owner, str(one.files), size(one.bytes), oldest)
        terminal.print(spools)
    if found.types is not None:
        shares = Table("", "type", show_edge=False)
        for name in ("records", "bytes", "a record"):
            shares.add_column(name, justify="right")
        for share in sorted(found.types, key=lambda one: -one.bytes):
            each = f"{share.bytes / share.records:.1f}"
            shares.add_row(share.prefix, type_name(share.type), f"{share.records:,}", size(share.bytes), each)
        terminal.print(shares)


def _about(found: Stats) -> list[tuple[str, str]]:
    pages = found.pages
    newest = found.newest
    return [
        ("store", f"{found.directory}, version {found.version}"),
        ("written by", found.writer or "nobody now"),
        ("records", f"{found.records:,}"),
        ("used", f"{size(found.used_bytes)} of {size(found.file_bytes)}, {size(found.free_bytes)} free to be used again"),
        ("map", f"{size(found.map_bytes)}; it grows by itself"),
        ("pages", f"{pages.leaf:,} leaf, {pages.branch:,} branch, {pages.overflow:,} overflow of {pages.bytes} bytes; depth {pages.depth}"),
        ("newest bucket", f"{datetime.fromtimestamp(newest, UTC):%Y-%m-%d %H:%M} UTC" if newest is not None else "none"),
        ("doorkeeper", f"room for {found.doorkeeper_slots:,} seen once" if found.doorkeeper_slots else "off"),
        ("waiting", f"{size(found.waiting_bytes)} in {len(found.spools)} {'spool' if len(found.spools) == 1 else 'spools'}, the oldest {found.lag_s:.1f} s old"),
    ]  # fmt: skip


def size(number: int) -> str:
    """Return bytes as people read them."""
    return f"{number / (1 << 20):,.1f} MiB" if number >= 1 << 20 else f"{number / 1024:,.1f} KiB"
