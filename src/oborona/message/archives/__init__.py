"""Listings of archives: one reader for each format, each from octets to an `entry.Listing`, none
raises, none does unlimited work.
"""

from __future__ import annotations

from oborona.message.archives import (
    iso_tree,
    rar_headers,
    seven_zip,
    streams,
    tar_blocks,
    zip_directory,
)
from oborona.message.archives.entry import ArchiveListing
from oborona.message.findings import Findings


def listing(octets: bytes, kind: str, name: str, findings: Findings) -> ArchiveListing:
    """Return what an archive holds; never raises.

    Args:
        octets: of the archive.
        kind: one of `kinds.ARCHIVES`.
        name: of its file.
        findings: gets what is broken, contradictory or beyond a limit.

    """
    match kind:
        case "zip":
            return zip_directory.listing(octets, findings)
        case "rar":
            return rar_headers.listing(octets, findings)
        case "7z":
            return seven_zip.listing(octets, findings)
        case "tar":
            return tar_blocks.listing(octets, findings)
        case "iso":
            return iso_tree.listing(octets, findings)
        case _:
            return streams.listing(octets, kind, name)
