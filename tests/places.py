"""Databases of places for tests, in MaxMind's format, written as those of each maker are laid
out.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmdb_writer import MMDBWriter
from netaddr import IPSet

COUNTRIES: dict[str, dict[str, Any]] = {
    "192.0.2.0/24": {"country": {"iso_code": "DE", "names": {"en": "Germany", "ru": "Германия"}}, "continent": {"code": "EU"}},
    "198.51.100.0/24": {"registered_country": {"iso_code": "US"}},
    "2001:db8::/32": {"country": {"iso_code": "RU"}},
}  # fmt: skip
SYSTEMS: dict[str, dict[str, Any]] = {
    "192.0.2.0/24": {
        "autonomous_system_number": 64496,
        "autonomous_system_organization": "Example Net",
    },
    "2001:db8::/32": {
        "autonomous_system_number": 4_200_000_000,
        "autonomous_system_organization": "Пример",
    },
}


def database(
    path: Path, networks: Mapping[str, Mapping[str, Any]], *, kind: str = "Test", six: bool = True
) -> Path:
    """Write a database with a record for each network; return its path. It is built now."""
    writer = MMDBWriter(6 if six else 4, kind, ipv4_compatible=six, description="for tests")
    for network, record in networks.items():
        writer.insert_network(IPSet([network]), dict(record))
    fresh = path.with_name(f"{path.name}.new")
    writer.to_db_file(str(fresh))
    return fresh.rename(path)  # as those who fetch databases do
