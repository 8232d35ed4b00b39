"""A message as the system sees it, as plain data: what `oborona dissect` shows, and what its JSON
is (docs/policy/message.md).

Field names are for ever; new ones may come. Whatever a stranger sent stands here as it is, control
characters included.
"""

from __future__ import annotations

import msgspec

from oborona.message.respelling import Respelling


class DissectedPart(msgspec.Struct, frozen=True, kw_only=True):
    """One part of the MIME tree."""

    path: str  # as IMAP numbers parts; empty = the message itself
    type: str  # as declared, lower case
    charset: str  # as declared
    encoding: str
    disposition: str
    name: str
    size: int  # octets of the body as sent
    children: list[DissectedPart]


class DissectedEntity(msgspec.Struct, frozen=True, kw_only=True):
    """What a message names: a link, an e-mail address, or what `oborona.message.model.EntityKind`
    lists.
    """

    kind: str
    value: str  # the one form that is counted
    raw: str  # as found; empty where that was not kept
    place: str  # where it stood
    host: str = ""  # of a link, and so are the others
    domain: str = ""
    shown: str = ""
    through: str = ""
    user: str = ""


class DissectedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file in an attached archive, or in one inside it."""

    name: str
    kind: str  # by content
    size: int  # -1 = not known
    crc: str  # 8 hexadecimal digits; empty = not known
    encrypted: bool
    depth: int


class DissectedAttachment(msgspec.Struct, frozen=True, kw_only=True):
    """A part that is not shown as text."""

    name: str
    type: str  # as declared
    kind: str  # by content
    size: int  # octets, decoded
    sha256: str
    picture: bool
    encrypted: bool
    macros: bool
    files: list[DissectedFile]


class DissectedPicture(msgspec.Struct, frozen=True, kw_only=True):
    """A picture, and what was found in it."""

    name: str
    kind: str  # by its first octets
    place: str  # attached, inline, data
    size: int  # octets, decoded
    sha256: str
    looked: bool  # whether what follows, up to codes, is known
    width: int  # pixels
    height: int
    frames: int
    hashes: list[str]  # values of the perceptual hash, 16 hexadecimal digits each
    codes: tuple[str, ...]  # payloads of QR codes and their like
    read: bool  # whether `text` is known
    text: str


class DissectedShingle(msgspec.Struct, frozen=True, kw_only=True):
    """A shingle, with what was hashed."""

    type: int
    name: str
    hash: str  # 16 hexadecimal digits
    source: str
    # of `source`: text; octets = hexadecimal; value = PLACE:HEX, one value of a fingerprint
    form: str


class DissectedPair(msgspec.Struct, frozen=True, kw_only=True):
    """A unique pair: how many `b` are there of one `a`."""

    type: int  # of P = hash(a, b)
    name: str
    hash: str
    counts_type: int  # of U = hash(a), which grows when P is new
    counts_name: str
    counts_hash: str
    a: str
    b: str


class DissectedFinding(msgspec.Struct, frozen=True):
    """A finding, and what it says."""

    name: str
    evidence: str
    meaning: str


class DissectedSignature(msgspec.Struct, frozen=True, kw_only=True):
    """A signature that the message has."""

    id: str
    flag: str  # spam, ham
    kind: str
    where: str
    value: str  # as its author wrote it
    owner: str
    reason: str
    mode: str  # live, shadow
    score: float | None  # its own


class RemovedText(msgspec.Struct, frozen=True, kw_only=True):
    """What is no part of what is counted, or was read otherwise than written."""

    hidden_share: float  # of all words of the HTML, 0..1
    not_own: tuple[str, ...]  # lines that are not, or not as a whole, what the sender wrote himself
    respelled: tuple[Respelling, ...]


class Dissection(msgspec.Struct, frozen=True, kw_only=True):
    """A message in pieces, to be shown."""

    file: str
    keyed: bool  # the hashes are those of the site's counters
    size: int  # octets
    tree: DissectedPart
    shown: str  # the text that a reader sees
    text: str  # the same, normalised
    hidden: str  # the text that a reader does not see
    removed: RemovedText
    entities: list[DissectedEntity]
    attachments: list[DissectedAttachment]
    pictures: list[DissectedPicture]
    shingles: list[DissectedShingle]
    pairs: list[DissectedPair]
    findings: list[DissectedFinding]
    signatures: list[DissectedSignature]
