"""What a backup is: a folder of plain files, a manifest of where they belong, and a checksum of
each.

    SHA256SUMS         of every other file; `sha256sum -c SHA256SUMS` says the same as we do
    manifest.json      `BackupManifest`
    settings/          the settings file, the policy folder, and the files that settings name
    state/             the secret, the stores, what was learned; not the locks, sockets and copies
                       that a daemon makes when it starts

It appears under its name whole or not at all, readable by its owner alone: it holds the secret, and
who wrote to whom.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from oborona.errors import StoreError, StoreVersion

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
SUMS: Final = "SHA256SUMS"
SETTINGS: Final = "settings"
STATE: Final = "state"
_SUM: Final = re.compile(r"([0-9a-f]{64})  (.+)")


class BackupPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a file or folder of the settings lies."""

    path: str
    mode: int  # of the file, or of the files in the folder
    owner: str
    group: str


class BackupManifest(msgspec.Struct, frozen=True, kw_only=True):
    """Where the files of a backup come from."""

    format: int = FORMAT
    oborona: str  # version of the program
    made: str  # ISO 8601, UTC
    host: str
    state: str  # folder
    owner: str  # user of the state folder
    group: str
    places: dict[str, BackupPlace]  # file or folder below the backup's `settings`
    stores: dict[str, int]  # file below `state` → version of its format
    cluster: bool  # the counters are in a cluster, and not in here


def read_manifest(folder: Path) -> BackupManifest:
    """Return the manifest of a backup of which every file is there and as it was written.

    Raises:
        StoreVersion: a newer Oborona made it.
        StoreError: it is no backup, or damaged; the text names the first file that is.
    """
    try:
        paths = set(_files(folder)) - {folder / SUMS}
        for path, digest in _sums(folder):
            if path not in paths:
                raise StoreError(f"{folder} is damaged: {path.relative_to(folder)} is missing")
            paths.discard(path)
            if file_digest(path) != digest:
                raise StoreError(
                    f"{folder} is damaged: {path.relative_to(folder)} is not what was written"
                )
        if paths:
            raise StoreError(
                f"{folder} is damaged: {min(paths).relative_to(folder)} does not belong to it"
            )
        octets = (folder / MANIFEST).read_bytes()
        fields = msgspec.json.decode(octets, type=dict[str, object])
        if isinstance(fields.get("format"), int) and fields["format"] != FORMAT:
            raise StoreVersion(
                f"{folder} is a backup of format {fields['format']}, this Oborona knows {FORMAT}"
            )
        manifest = msgspec.json.decode(octets, type=BackupManifest)
    except OSError as error:
        raise StoreError(f"{error.filename or folder}: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StoreError(f"{folder} is damaged: {MANIFEST}: {error}") from error
    for name in manifest.places:
        if not name or name != Path(name).name or name == "..":
            raise StoreError(f"{folder} is damaged: {MANIFEST} has a place {name[:80]!r}")
    return manifest


def seal_backup(folder: Path, manifest: BackupManifest) -> None:
    """Write the manifest, and the checksums of all that is there.

    Raises:
        OSError: it can't be written.
    """
    _write(folder / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")
    lines = (
        f"{file_digest(path)}  {path.relative_to(folder)}\n" for path in sorted(_files(folder))
    )
    _write(folder / SUMS, "".join(lines).encode())


def _write(path: Path, octets: bytes) -> None:
    path.touch(mode=0o600, exist_ok=False)
    path.write_bytes(octets)


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if not path.is_dir() or path.is_symlink())


def _sums(folder: Path) -> Iterator[tuple[Path, str]]:
    path = folder / SUMS
    if not path.exists():
        raise StoreError(f"{folder} is no backup of Oborona: it has no {SUMS}")
    lines = path.read_text().splitlines()
    if not any(line.endswith(f"  {MANIFEST}") for line in lines):
        raise StoreError(f"{folder} is damaged: {SUMS} has no {MANIFEST}")
    for line in lines:
        match = _SUM.fullmatch(line)
        if match is None or ".." in Path(match[2]).parts or match[2].startswith("/"):
            raise StoreError(f"{folder} is damaged: {SUMS} has {line[:80]!r}")
        yield folder / match[2], match[1]
