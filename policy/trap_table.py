"""The `[traps]` table, and the files of addresses that it names.

A file has one trap a line: an address, or a domain; # begins a comment.  It is read when it changed
and not otherwise.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from oborona.errors import PolicyError
from oborona.policy.folders import PolicyFolders
from oborona.policy.list_files import Look, contents, file_state
from oborona.policy.named_tables import LIST_FILE, MAX_LIST_FILE, refuse
from oborona.policy.traps import (
    MAX_PATTERN,
    NO_TRAPS,
    BrokenTrap,
    TrapAction,
    Traps,
    trap_address,
    trap_domain,
)
from oborona.toml import GivenValue

MAX_INLINE: Final = 1000  # entries in a policy file; more belong into a list file
MAX_PATTERNS: Final = 50
MAX_FILES: Final = 20
MAX_FILE_BYTES: Final = 32 * 1024 * 1024
MAX_FILE_TRAPS: Final = 500_000  # of one file: some 80 MB in each process

_File = Annotated[str, Meta(pattern=LIST_FILE, max_length=MAX_LIST_FILE)]


class TrapsTable(msgspec.Struct, frozen=True, kw_only=True):
    """The `[traps]` table: addresses that no person uses (docs/people/reports.md)."""

    addresses: Annotated[
        tuple[str, ...],
        Meta(max_length=MAX_INLINE, description="Addresses that are traps, each exactly as it is."),
    ] = ()
    domains: Annotated[
        tuple[str, ...],
        Meta(
            max_length=MAX_INLINE,
            description="Domains of which every address is a trap but postmaster@ and abuse@; "
            "with a full stop in front, all domains below"
            " it, too.",
        ),
    ] = ()
    patterns: Annotated[
        tuple[Annotated[str, Meta(max_length=MAX_PATTERN)], ...],
        Meta(max_length=MAX_PATTERNS, description="RE2 patterns of whole addresses in lower case."),
    ] = ()
    files: Annotated[
        tuple[_File, ...],
        Meta(
            max_length=MAX_FILES,
            description="Files in the policy folder with more addresses and domains, one a line.",
            extra={"allowed": 'names of files in the policy folder, such as ["traps.list"]'},
        ),
    ] = ()
    then: Annotated[
        TrapAction,
        Meta(
            description="What becomes of mail to a trap once it is learned from: drop (taken and "
            "thrown away), file (delivered, marked as"
            " spam), reject (refused as spam is)."
        ),
    ] = TrapAction.DROP


class _KnownTraps(NamedTuple):
    look: Look
    digest: bytes
    addresses: frozenset[str]
    domains: frozenset[str]


def traps_table(fields: Mapping[str, GivenValue]) -> TrapsTable:
    """Return the `[traps]` table that files give together, its entries in their normal form.

    Raises:
        PolicyError: an entry that can be no trap.
    """
    table = TrapsTable(**{key: item.value for key, item in fields.items()})
    normal = {}
    for key, form in (("addresses", trap_address), ("domains", trap_domain)):
        try:
            normal[key] = tuple(form(address) for address in getattr(table, key))
        except BrokenTrap as fault:
            raise refuse(f"[traps] {key}: {fault}", fields[key].place) from None
    try:
        Traps(patterns=table.patterns)
    except BrokenTrap as fault:
        raise refuse(f"[traps] patterns: {fault}", fields["patterns"].place) from None
    return msgspec.structs.replace(table, **normal)


class TrapFiles:
    """The traps of a policy with those of its files, kept from one policy to the next."""

    def __init__(self) -> None:
        self._known: dict[str, _KnownTraps] = {}
        self._last: tuple[TrapsTable, tuple[bytes, ...]] | None = None
        self._traps = NO_TRAPS
        self._meant = b""

    def read(
        self,
        folders: PolicyFolders,
        table: TrapsTable,
        fields: Mapping[str, GivenValue],
        *,
        force: bool = False,
    ) -> tuple[Traps, bytes]:
        """Return all traps, and a digest of them; the same object as before if nothing changed.

        Args:
            folders: of the policy.
            table: the table.
            fields: its keys, with their places.
            force: open the files even if they look as before.

        Raises:
            PolicyError: a file that can't be used, with its line; what was known before stays
                known.
        """
        files: dict[str, _KnownTraps] = {}
        for name in table.files:
            files[name] = self._read_file(folders.find(name), name, fields, force=force)
        self._known = files
        state = table, tuple(file.digest for file in files.values())
        if state != self._last:
            addresses = _together(table.addresses, (file.addresses for file in files.values()))
            domains = _together(table.domains, (file.domains for file in files.values()))
            self._traps = Traps(addresses, domains, table.patterns)
            sorts = (*sorted(addresses | domains), "", *sorted(table.patterns))
            self._meant = hashlib.sha256("\n".join(sorts).encode()).digest()
            self._last = state
        return self._traps, self._meant

    def _read_file(
        self, path: Path, name: str, fields: Mapping[str, GivenValue], *, force: bool
    ) -> _KnownTraps:
        file, state = self._known.get(name), file_state(path)
        if file is not None and file.look == state and not force:
            return file
        raw = contents(path, "[traps]", fields["files"].place, MAX_FILE_BYTES)
        digest = hashlib.sha256(raw).digest()
        if file is not None and file.digest == digest:
            return file._replace(look=state)
        return _KnownTraps(state, digest, *_entries(raw, path))


def _entries(raw: bytes, path: Path) -> tuple[frozenset[str], frozenset[str]]:
    """Return addresses and domains of a file."""
    if not raw.strip():
        raise PolicyError(
            "is empty: half-written? A comment (#) makes it empty on purpose",
            file=str(path),
            line=1,
        )
    if not raw.endswith(b"\n"):
        raise PolicyError(
            "its last line does not end: half-written?", file=str(path), line=raw.count(b"\n") + 1
        )
    addresses: set[str] = set()
    domains: set[str] = set()
    for number, line in enumerate(raw.split(b"\n"), 1):
        try:
            text = line.decode("utf-8").partition("#")[0].strip()
            if text and "@" in text.removeprefix("@"):
                addresses.add(trap_address(text))
            elif text:
                domains.add(trap_domain(text.removeprefix("@")))
        except UnicodeDecodeError:
            raise PolicyError("is not UTF-8", file=str(path), line=number) from None
        except BrokenTrap as fault:
            raise PolicyError(str(fault), file=str(path), line=number) from None
        if len(addresses) + len(domains) > MAX_FILE_TRAPS:
            raise PolicyError(
                f"holds more than {MAX_FILE_TRAPS} traps", file=str(path), line=number
            )
    return frozenset(addresses), frozenset(domains)


def _together(named: Iterable[str], files: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset(named).union(*files)
