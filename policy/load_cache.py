"""The cache of a process between policy loads: unchanged files are not parsed again, unchanged
rules not checked again.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from oborona.errors import PolicyError
from oborona.policy.expression import RuleMemory
from oborona.policy.list_files import ListFiles
from oborona.policy.signature_files import SignatureFiles
from oborona.policy.trap_table import TrapFiles
from oborona.toml import TomlDocument, octets, parse

if TYPE_CHECKING:  # they import this
    from oborona.policy.load import Policy
    from oborona.policy.signatures import SignatureBook


class _KnownDocument(NamedTuple):
    file: str
    raw: bytes
    document: TomlDocument


class DocumentCache:
    """The TOML files that were read last, by their names: no two of one policy have the same."""

    def __init__(self) -> None:
        self._known: dict[str, _KnownDocument] = {}

    def read(self, path: Path, named: Path) -> TomlDocument:
        """Return a file's document.

        Args:
            path: of the file.
            named: the path that errors and places say.

        Raises:
            PolicyError: it can't be read, is empty, or looks half-written.
        """
        raw = octets(path, PolicyError)
        file = str(named)
        entry = self._known.get(path.name)
        if entry is not None and entry.raw == raw and entry.file == file:
            return entry.document
        document = parse(raw, file, PolicyError)
        if not raw.strip():
            raise PolicyError(
                "is empty: half-written? A file may be switched off by a comment", file=file, line=1
            )
        if not raw.endswith(b"\n"):
            raise PolicyError(
                "its last line does not end: half-written?", file=file, line=raw.count(b"\n") + 1
            )
        self._known[path.name] = _KnownDocument(file, raw, document)
        return document

    def keep(self, names: frozenset[str]) -> None:
        """Forget all other files."""
        self._known = {name: entry for name, entry in self._known.items() if name in names}


class PublishedPolicy(NamedTuple):
    """A policy in force, ready for use."""

    word: int  # of its publication
    policy: Policy
    book: SignatureBook  # of its signatures


class PolicyCache:
    """Everything that is cached for the folders of one policy and their copies.

    Attributes:
        documents: by the names of their files.
        lists: the list files.
        signatures: those of list files.
        traps: those of list files.
        rules: rules and conditions that were checked.
        published: what was in force before the fork: processes that judge by it share its memory.
            None = nothing was.
    """

    def __init__(self) -> None:
        self.documents = DocumentCache()
        self.lists = ListFiles()
        self.signatures = SignatureFiles()
        self.traps = TrapFiles()
        self.rules = RuleMemory()
        self.published: PublishedPolicy | None = None

    def loaded(self, word: int) -> Policy | None:
        """Return the policy of a publication, if it was loaded before the fork."""
        known = self.published
        return known.policy if known is not None and known.word == word else None
