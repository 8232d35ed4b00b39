"""The tables as files that others look things up in.

    oborona.sqlite    client(address, verdict, code, text, why, until), sender(...) of the same
                      columns
    clients.cdb       address → a line of `row`
    clients.ipl       network → the same line, the narrowest network first, for Exim's iplsearch
    senders.cdb       ann@a.example, *@a.example, .a.example → the same line

Each file takes its name when all of it is on the disk: who reads it sees the whole one of before,
or the whole one of now.  The files are not of one moment among themselves.  One that would hold
what it holds already gets the time of the look and nothing else.

Source: cdb by D. J. Bernstein; Exim 4.96, specification chapter 9 (iplsearch: IPv6 keys in quotes,
the first that matches).
"""

from __future__ import annotations

import hashlib
import os
import socket
import sqlite3
import tempfile
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Final, NamedTuple

import cdbx

from oborona.atomic_file import atomic_writer
from oborona.config import ExportSettings
from oborona.daemon.exporter.row import ExportRow
from oborona.reputation.networks import Network

SQLITE: Final = "oborona.sqlite"
CLIENTS: Final = "clients.cdb"
NETWORKS: Final = "clients.ipl"
SENDERS: Final = "senders.cdb"
ALL: Final = (SQLITE, NETWORKS, CLIENTS, SENDERS)
APPLICATION_ID: Final = 0x4F424558  # "OBEX"

_COLUMNS: Final = (
    "address TEXT PRIMARY KEY, verdict TEXT NOT NULL, code INTEGER NOT NULL, text TEXT NOT "
    "NULL, why TEXT NOT NULL, until INTEGER NOT NULL"
)
_HEAD: Final = "# Written by Oborona; changes do not last.\n"


class ExportTables(NamedTuple):
    """What the tables are to hold."""

    clients: Mapping[str, ExportRow]  # addresses as mail servers write them
    networks: tuple[tuple[Network, ExportRow], ...]  # the narrowest first
    senders: Mapping[str, ExportRow]


def export_tables(
    networks: Mapping[Network, ExportRow], senders: Mapping[str, ExportRow]
) -> ExportTables:
    """Return tables of networks, addresses among them, and senders."""
    single = {
        network: row
        for network, row in networks.items()
        if network.prefixlen == network.max_prefixlen
    }
    wide = [(network, row) for network, row in networks.items() if network not in single]
    wide.sort(
        key=lambda pair: (-pair[0].prefixlen, pair[0].version, pair[0].network_address.packed)
    )
    return ExportTables(
        dict(
            sorted((address_text(network.network_address), row) for network, row in single.items())
        ),
        tuple(wide),
        dict(sorted(senders.items())),
    )


def address_text(address: IPv4Address | IPv6Address) -> str:
    """Return an address as the system writes it, and with it every mail server."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    return socket.inet_ntop(family, address.packed)


class ExportFiles:
    """The files of one folder.

    Args:
        settings: of the export: where, and for whom.
    """

    def __init__(self, settings: ExportSettings) -> None:
        self._folder = Path(settings.folder)
        self._mode = int(settings.mode, 8)
        self._held: dict[str, bytes] = {}  # file name → digest of what it holds

    def write(self, tables: ExportTables) -> list[str]:
        """Bring all files up to date; return the names of those that have changed.

        Raises:
            StoreError: one can't be written; it holds what it held before.
        """
        return [
            name
            for name, octets in (
                (SQLITE, _sqlite(tables)),
                (NETWORKS, _ipl(tables)),  # whoever finds clients looks for networks next
                (CLIENTS, _cdb(tables.clients)),
                (SENDERS, _cdb(tables.senders)),
            )
            if self._write(name, octets)
        ]

    def _write(self, name: str, octets: bytes) -> bool:
        path, digest = self._folder / name, hashlib.sha256(octets).digest()
        if self._held.get(name) == digest:
            try:
                os.utime(path)
            except OSError:
                pass  # gone, or not ours any more: written anew
            else:
                return False
        with atomic_writer(path) as file:
            os.fchmod(file.fileno(), self._mode)
            file.write(octets)
        self._held[name] = digest
        return True


def _sqlite(tables: ExportTables) -> bytes:
    db = sqlite3.connect(":memory:", isolation_level=None)
    try:
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute("BEGIN")
        for table, rows in (("client", tables.clients), ("sender", tables.senders)):
            db.execute(f"CREATE TABLE {table} ({_COLUMNS}) WITHOUT ROWID")
            db.executemany(
                f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?, ?)",  # noqa: S608 - names above
                (
                    (key, row.verdict, row.code, row.text, row.why, row.until)
                    for key, row in rows.items()
                ),
            )
        db.execute("COMMIT")
        return db.serialize()
    finally:
        db.close()


def _cdb(rows: Mapping[str, ExportRow]) -> bytes:
    with tempfile.TemporaryFile() as file:
        maker = cdbx.CDB.make(file)
        for key, row in rows.items():
            maker.add(key.encode("utf-8", "surrogateescape"), row.line.encode("ascii"))
        maker.commit()
        file.seek(0)
        return file.read()


def _ipl(tables: ExportTables) -> bytes:
    lines = (
        f'"{network}": {row.line}\n' if network.version == 6 else f"{network}: {row.line}\n"
        for network, row in tables.networks
    )
    return (_HEAD + "".join(lines)).encode("ascii")
