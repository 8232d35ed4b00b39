"""The policy files that ever shipped: `00-shipped.tsv` beside those that ship now, a line for each
version of each file.

    NAME   ships | was   first 16 digits of its SHA-256   fingerprints of a policy file's keys and
                                                          values; - of other files

It shows an incomplete installation (`oborona.policy.folders`), and tells an admin's changes in a
copy from those of a later program (`oborona policy migrate`).
`python -m oborona.cli.policy.history` writes it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from oborona.errors import PolicyError

MANIFEST: Final = "00-shipped.tsv"
SHIPS: Final = "ships"
WAS: Final = "was"
HEAD: Final = (
    "# Which files ship, and every version of them that ever shipped. Written by `make docs`."
)
DIGITS: Final = 16  # of SHA-256
# of a fingerprint: one of all versions of one file is taken for another once in ten million
_OCTETS: Final = 4
_NOTHING: Final = "-"


class FileVersion(NamedTuple):
    """One version of one file."""

    name: str
    ships: bool  # now
    digest: str
    # fingerprints of what it says; None = it is no policy file
    said: frozenset[bytes] | None = None


def read(path: Path) -> list[FileVersion]:
    """Return all versions.

    Raises:
        PolicyError: the file can't be read, or is no such table.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as fault:
        why = getattr(fault, "strerror", None) or fault
        raise PolicyError(f"cannot be read: {why}", file=str(path)) from fault
    versions = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            continue
        try:
            name, state, digest, prints_text = line.split("\t")
            prints = (
                None
                if prints_text == _NOTHING
                else frozenset(_split(base64.b64decode(prints_text, validate=True)))
            )
        except (ValueError, binascii.Error):
            raise PolicyError(
                "is no line of the table of shipped files", file=str(path), line=number
            ) from None
        versions.append(FileVersion(name, state == SHIPS, digest, prints))
    return versions


def shipped_table(versions: Iterable[FileVersion]) -> str:
    """Return the table as text: in the order of names, for each the versions as they are given, the
    one that ships last.
    """
    lines = [HEAD]
    for version in sorted(versions, key=lambda version: (version.name, version.ships)):
        prints = (
            _NOTHING
            if version.said is None
            else base64.b64encode(b"".join(sorted(version.said))).decode()
        )
        lines.append(
            "\t".join((version.name, SHIPS if version.ships else WAS, version.digest, prints))
        )
    return "\n".join(lines) + "\n"


def digest(raw: bytes) -> str:
    """Return the digest of a file by which a version is known."""
    return hashlib.sha256(raw).hexdigest()[:DIGITS]


def statements_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return everything that a policy file says by its tables: `verdict.spam_score`,
    `rule.NAME.score` and so on.

    Args:
        data: of a file that was read without error.
    """
    content_read: dict[str, Any] = {}
    for section, content in data.items():
        if isinstance(content, Mapping):
            content_read |= {f"{section}.{key}": value for key, value in content.items()}
        else:
            for table in content:
                content_read |= {
                    f"{section}.{table['name']}.{key}": value for key, value in table.items()
                }
    return content_read


def fingerprint(key: str, value: Any) -> bytes:
    """Return the fingerprint of one thing that a file says."""
    encoded = msgspec.json.encode(value, order="deterministic")
    return hashlib.blake2s(key.encode() + b"\0" + encoded, digest_size=_OCTETS).digest()


def _split(octets: bytes) -> Iterator[bytes]:
    if len(octets) % _OCTETS:
        raise ValueError
    for at in range(0, len(octets), _OCTETS):
        yield octets[at : at + _OCTETS]
