"""What the desk tells of a message that somebody hands in: as much as its page shows."""

from __future__ import annotations

import msgspec

from oborona.console.message_answer import ShownMessage, ShownProof


class TriedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """What would become of a message now."""

    explanation: ShownMessage
    proof: ShownProof | None = None


class ReadPart(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the MIME tree."""

    path: str
    type: str
    charset: str = ""
    disposition: str = ""
    name: str = ""
    size: int = 0
    children: list[ReadPart] = []


class ReadEntity(msgspec.Struct, frozen=True, kw_only=True):
    """A link, an address, or another thing that a message names."""

    kind: str
    value: str
    raw: str = ""
    place: str = ""
    shown: str = ""


class ReadArchiveFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file in an archive."""

    name: str
    kind: str = ""


class ReadAttachment(msgspec.Struct, frozen=True, kw_only=True):
    """A part that is not shown as text."""

    name: str
    type: str
    kind: str
    size: int
    sha256: str = ""
    encrypted: bool = False
    macros: bool = False
    files: list[ReadArchiveFile] = []


class ReadFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A finding, and what it says."""

    name: str
    evidence: str = ""
    meaning: str = ""


class ReadWord(msgspec.Struct, frozen=True, kw_only=True):
    """A word as it was written, and as it was read."""

    written: str
    read: str


class ReadRemoved(msgspec.Struct, frozen=True, kw_only=True):
    """What is no part of what is counted."""

    hidden_share: float = 0.0
    not_own: list[str] = []
    respelled: list[ReadWord] = []


class ReadMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message in pieces."""

    size: int
    tree: ReadPart
    shown: str = ""
    hidden: str = ""
    removed: ReadRemoved = ReadRemoved()
    entities: list[ReadEntity] = []
    attachments: list[ReadAttachment] = []
    findings: list[ReadFinding] = []

    @property
    def parts(self) -> list[ReadPart]:
        """All parts, each before those within it."""
        found, left = list[ReadPart](), [self.tree]
        while left:
            part = left.pop()
            found.append(part)
            left += reversed(part.children)
        return found


class CheckedStep(msgspec.Struct, frozen=True, kw_only=True):
    """A question to the DNS, and what came of it."""

    kind: str
    name: str
    took_s: float = 0.0
    records: list[str] = []
    outcome: str = ""
    why: str = ""


class CheckedOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a method came to."""

    result: str
    words: str = ""


class CheckedMethod(msgspec.Struct, frozen=True, kw_only=True):
    """One method of authentication, step by step."""

    method: str
    question: str = ""
    steps: list[CheckedStep] = []
    outcomes: list[CheckedOutcome] = []
    notes: list[str] = []


class CheckedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """Who sent a message, as far as it is proved."""

    client: str = ""
    methods: list[CheckedMethod] = []
    results: str = ""
