"""The act by which the tables for mail servers' own look-ups are written at once."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Final

import msgspec

from oborona.daemon.exporter.exporter import TableExporter
from oborona.daemon.exporter.files import ExportFiles, ExportTables
from oborona.desk.call import ActOrder, act
from oborona.desk.refusals import MisusedCallError
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right

ALL_ROWS: Final = sys.maxsize  # for who writes them out as they come


class TableExportOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """The tables of [export] are to be written.

    Args:
        most: rows that a dry run shows.
    """

    most: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 1_000


class ExportedRow(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a table.

    Args:
        sort: client, network, sender.
        key: an address, a network; a sender, or a pattern of senders.
        line: what the table says of it.
    """

    sort: str
    key: str
    line: str


class ExportedTables(msgspec.Struct, frozen=True, kw_only=True):
    """What was written; in a dry run, what would be.

    Args:
        folder: of the tables; empty = none is set.
        changed: files that hold something else now.
        clients: how many addresses the tables have.
        networks: the same of networks.
        senders: the same of senders.
        troubles: what could not be asked, and is not in the tables.
        rows: of a dry run, the first ones.
    """

    folder: str
    changed: tuple[str, ...]
    clients: int
    networks: int
    senders: int
    troubles: tuple[str, ...]
    rows: tuple[ExportedRow, ...]


@act("export.write", Right.SYSTEM)
def write_tables(site: Site, _caller: Caller, asked: TableExportOrder) -> ExportedTables:
    """Write the tables of [export] now, as the keeper does from time to time.

    Raises:
        MisusedCallError: no folder is set.
        StoreError: the policy can't be read, or a file can't be written.
    """
    settings = site.loaded.settings
    if not asked.dry and not settings.export.folder:
        raise MisusedCallError("export.folder is not set: there is nowhere to write")
    with site.as_owner():
        tables, troubles = TableExporter(settings, site.state).round(time.time())
        changed = () if asked.dry else tuple(ExportFiles(settings.export).write(tables))
    return ExportedTables(
        folder=settings.export.folder,
        changed=changed,
        clients=len(tables.clients),
        networks=len(tables.networks),
        senders=len(tables.senders),
        troubles=troubles,
        rows=tuple(islice(_rows(tables), asked.most)) if asked.dry else (),
    )


def _rows(tables: ExportTables) -> Iterator[ExportedRow]:
    for sort, rows in (
        ("client", tables.clients.items()),
        ("network", ((str(network), row) for network, row in tables.networks)),
        ("sender", tables.senders.items()),
    ):
        for key, row in rows:
            yield ExportedRow(sort=sort, key=key, line=row.line)
