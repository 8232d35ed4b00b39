"""What a signature is."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from oborona.types import RuleMode

MAX_SIGNATURES: Final = 200_000  # of files and store together: 80 MB in each worker


class SignatureFlag(StrEnum):
    """What mail with a signature is."""

    SPAM = "spam"
    HAM = "ham"
    MARK = "mark"  # says nothing alone: rules count those of a list, `signatures.marks`


class SignatureKind(StrEnum):
    """What a signature looks for."""

    PHRASE = "phrase"  # words in a row, whatever stands between them, disguised or not
    PATTERN = "pattern"  # RE2, in the normalised text
    HOST = "host"  # exactly this host of a link
    DOMAIN = "domain"  # it and all below it, in links and e-mail addresses
    URL = "url"
    PHONE = "phone"
    ADDRESS = "address"  # an e-mail address, in the text, From or Reply-To
    WALLET = "wallet"
    HANDLE = "handle"  # a name on a messenger
    LIST = "list"  # a List-Id
    CHECKSUM = "checksum"  # SHA-256 of an attachment


class SignatureScope(StrEnum):
    """In which part of a message it is looked for."""

    ANY = "any"  # all of those below but the header fields; entities wherever they are found
    TEXT = "text"  # what a reader sees, links and attachments included
    SUBJECT = "subject"
    NAME = "name"  # the display name in From
    PICTURE = "picture"  # what was read in pictures
    HEADER = "header"  # any header field, as `name: value`; entities: of From, Reply-To and List-Id


WORDS: Final = frozenset({SignatureKind.PHRASE, SignatureKind.PATTERN})
"""Kinds that are looked for in words; all others are entities."""


class Signature(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A phrase, pattern or entity that marks mail."""

    id: str  # for ever: s42 of the store, PHARMA of a policy file, PHARMA:3fa2c19d01ab of a list
    flag: SignatureFlag
    kind: SignatureKind
    value: str  # as its author wrote it
    where: SignatureScope = SignatureScope.ANY
    inside: bool = False  # of a phrase: also inside longer words
    owner: str = ""  # who answers for it: a person, a team, a customer
    reason: str = ""  # why it is one
    author: str = ""  # who added it
    created: float = 0.0  # Unix seconds; 0 = not known
    expires: float = 0.0  # Unix seconds from which it is not looked for; 0 = never
    score: float | None = None  # its own; None = as the rules for all of its flag say
    mode: RuleMode = RuleMode.LIVE

    def expired(self, now: float) -> bool:
        """Tell whether it is over at Unix time `now`."""
        return 0.0 < self.expires <= now
