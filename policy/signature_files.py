"""List files of signatures, one phrase, pattern or entity a line; read again only when changed.

A line that begins with # is a comment; later in a line # is part of the phrase. The id of a
signature is its list's name and a hash of the line's content, wherever in the file the line stands.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from oborona.errors import PolicyError
from oborona.policy.folders import PolicyFolders
from oborona.policy.list_files import Look, contents, digest_of, file_state
from oborona.policy.named_tables import refuse
from oborona.policy.signature_tables import SignatureSource
from oborona.policy.signatures.check import BrokenSignature, check_signature
from oborona.policy.signatures.model import MAX_SIGNATURES, Signature

MAX_LIST_BYTES: Final = 32 << 20  # of a list file: 200,000 long phrases
_ID_OCTETS: Final = 6  # of the hash of a line: two of 200,000 meet once in 14,000 such lists


class _KnownSignatures(NamedTuple):
    look: Look
    digest: bytes
    signatures: Mapping[str, Signature]
    meant: bytes  # digest of their ids, which hold hashes of what stands in the lines


class SignatureFiles:
    """Signatures of list files, kept from one policy to the next."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Signature], _KnownSignatures] = {}
        self._last: tuple[tuple[Signature, ...], tuple[Mapping[str, Signature], ...]] = ((), ())
        self._all: Mapping[str, Signature] = {}

    def read(
        self,
        folders: PolicyFolders,
        tables: Sequence[Signature],
        sources: Sequence[SignatureSource],
        *,
        force: bool = False,
    ) -> tuple[Mapping[str, Signature], dict[str, bytes]]:
        """Return all signatures of a policy by id, and digests of what the list files mean, by the
        names of the lists.

        The signatures are the same object as before if nothing changed.

        Args:
            folders: of the policy.
            tables: the signatures of policy files.
            sources: the lists of policy files.
            force: open the files even if they look as before.

        Raises:
            PolicyError: a file or line that can't be used; what was known before stays known.
        """
        used: dict[tuple[str, Signature], _KnownSignatures] = {}
        meant: dict[str, bytes] = {}
        for source in sources:
            entry = used[source.file, source.pattern] = self._read_source(
                folders.find(source.file), source, force=force
            )
            meant[source.pattern.id] = entry.meant
            if len(tables) + sum(len(entry.signatures) for entry in used.values()) > MAX_SIGNATURES:
                raise refuse(f"more than {MAX_SIGNATURES} signatures in all files", source.place)
        self._known = used
        parts = (tuple(tables), tuple(entry.signatures for entry in used.values()))
        if parts != self._last:
            self._all = {signature.id: signature for signature in tables}
            for signature in parts[1]:
                self._all = {**self._all, **signature}
            self._last = parts
        return self._all, meant

    def _read_source(self, path: Path, source: SignatureSource, *, force: bool) -> _KnownSignatures:
        entry = self._known.get((source.file, source.pattern))
        state = file_state(path)
        if entry is not None and entry.look == state and not force:
            return entry
        raw = contents(path, f"signature list {source.pattern.id}", source.place, MAX_LIST_BYTES)
        digest = hashlib.sha256(raw).digest()
        if entry is not None and entry.digest == digest:
            return entry._replace(look=state)
        signatures = _signatures(raw, path, source.pattern)
        return _KnownSignatures(state, digest, signatures, digest_of(map(str.encode, signatures)))


def _signatures(raw: bytes, path: Path, pattern: Signature) -> Mapping[str, Signature]:
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
    signatures: dict[str, Signature] = {}
    for number, value in _lines(raw, path):
        name = hashlib.blake2b(value.encode(), digest_size=_ID_OCTETS).hexdigest()
        signature = msgspec.structs.replace(pattern, id=f"{pattern.id}:{name}", value=value)
        try:
            signatures[signature.id] = check_signature(signature)
        except BrokenSignature as fault:
            raise PolicyError(str(fault), file=str(path), line=number) from None
        if len(signatures) > MAX_SIGNATURES:
            raise PolicyError(
                f"holds more than {MAX_SIGNATURES} signatures", file=str(path), line=number
            )
    return signatures


def _lines(raw: bytes, path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that are entries, with their numbers."""
    for number, line in enumerate(raw.split(b"\n"), 1):
        try:
            text = line.decode("utf-8").strip()
        except UnicodeDecodeError as fault:
            raise PolicyError(
                f"is not UTF-8: byte 0x{line[fault.start]:02x}",
                file=str(path),
                line=number,
                column=fault.start + 1,
            ) from None
        if text and not text.startswith("#"):
            yield number, text
