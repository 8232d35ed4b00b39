"""What a parsed message is: the pieces that the parser found, and nothing that judges them.

Every value is immutable, and is made of bytes that a stranger sent: text may hold anything a `str`
can hold except lone surrogates.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from oborona.types import Finding


class HeaderField(msgspec.Struct, frozen=True, gc=False):
    """One header field."""

    name: str  # lower case
    raw: bytes  # value as sent, folds kept (line ends are LF), without the space after the colon
    value: str  # unfolded, RFC 2047 words decoded, invisible ends stripped


class Mailbox(msgspec.Struct, frozen=True, gc=False):
    """One address of a header, RFC 5322 s3.4."""

    name: str  # display name, decoded; empty = none
    address: str  # local part as sent, domain in lower case; empty when there is no usable address
    domain: str  # lower case, no final dot


class EntityLocation(StrEnum):
    """Where a link or an entity stood."""

    ANCHOR = "anchor"  # <a href>, <area href>
    FORM = "form"  # <form action>
    FRAME = "frame"  # <iframe src>: shown without a click
    PICTURE = "picture"  # <img src>: loaded, not followed
    TEXT = "text"  # written out in the text
    HEADER = "header"  # in a field of the header
    CODE = "code"  # in a QR code or its like, of a picture
    DRAWN = "drawn"  # in the text that a picture shows
    DOCUMENT = "document"  # in an attached PDF


class MessageLink(msgspec.Struct, frozen=True, gc=False):
    """One link of the message."""

    url: str  # normal form: scheme and host in lower case, fragment and tracking parameters dropped
    host: str  # lower case; an IPv4 address in dotted form whatever way it was written
    domain: str  # registrable domain; the address itself for an IP host
    shown: str  # what a reader sees of an <a>; empty elsewhere
    place: EntityLocation
    # URL of the link that held this one inside itself; empty = it stands in the message
    through: str = ""
    user: str = ""  # what stood before an @ in front of the host, as written
    fragment: str = ""  # what stood behind a #, which no server sees and a page's script reads


class EntityKind(StrEnum):
    """What an entity is."""

    PHONE = "phone"
    WALLET = "wallet"
    HANDLE = "handle"
    LIST = "list"  # by its List-Id
    UNSUBSCRIBE = "unsubscribe"  # where a list is left


class NamedEntity(msgspec.Struct, frozen=True, gc=False):
    """What a message names that means something outside it, and is neither a link nor an e-mail
    address.
    """

    kind: EntityKind
    # +79051234567; bitcoin:1A1z...; telegram:name; a List-Id; an address, or a link's template
    value: str
    raw: str  # as found, quoted and cut
    place: EntityLocation


class MessagePart(msgspec.Struct, frozen=True):
    """One entity of the MIME tree."""

    path: str  # IMAP-like section: "1", "1.2"; "" is the message itself
    depth: int  # 0 is the message itself
    content_type: str  # lower case, e.g. text/plain
    charset: str  # as declared, lower case; empty = none
    encoding: str  # Content-Transfer-Encoding, lower case; empty = none
    disposition: str  # inline, attachment, ...; empty = none
    name: str  # file name; empty = none
    headers: tuple[
        HeaderField, ...
    ]  # of the part; those of the message itself are in Message.headers
    size: int  # octets of the body as sent


class ArchiveMember(msgspec.Struct, frozen=True, gc=False):
    """A file in an archive, or in an archive inside it; a file embedded in a document.

    By what the archive says of it.
    """

    name: str  # without its folders; empty = none
    extension: str  # after the last dot, lower case; empty = none
    kind: (
        str  # by its first octets, `oborona.message.file_types`; empty = unknown, or not to be had
    )
    size: int  # octets, unpacked; -1 = not known
    crc: int  # CRC-32 of them; -1 = not known
    encrypted: bool
    depth: int  # 1 = in the attachment itself


class Attachment(msgspec.Struct, frozen=True, gc=False):
    """A part that is not shown as text, decoded, hashed and looked into."""

    name: str  # file name as a reader sees it; empty = none
    extension: str  # after the last dot, lower case, without the dot; empty = none
    content_type: str  # as declared, lower case
    size: int  # octets, decoded
    sha256: bytes  # of the decoded octets
    picture: bool  # by its first octets, or declared image/*
    kind: str  # by its content, `oborona.message.file_types`; empty = unknown
    members: tuple[ArchiveMember, ...] = ()  # of an archive, those of archives in it included
    encrypted: bool = False  # it, or something in it, needs a password
    macros: bool = False  # in it, or in something in it


class PictureOrigin(StrEnum):
    """How a message holds a picture."""

    ATTACHED = "attached"  # a file beside the text
    INLINE = "inline"  # a part that the text shows
    DATA = "data"  # within HTML or its styles, as a data: URI


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """A picture of the message, and what was found in it by whoever looked:
    `oborona.message.pictures`.

    A PDF is held in the same way (`Message.documents`): looking at one gives its links as `codes`,
    and its text (`oborona.message.documents.pdf_text`).
    """

    octets: bytes  # of the file, decoded
    sha256: bytes  # of them
    name: str  # file name; empty = none
    kind: str  # by its first octets, `oborona.message.file_types`
    place: PictureOrigin
    looked: bool = False  # whether what follows, up to codes, is known
    width: int = 0  # pixels
    height: int = 0
    frames: int = 0  # of an animation; as far as they are counted
    # values of the perceptual hash, unsigned 64-bit: alike pictures share some
    hashes: tuple[int, ...] = ()
    codes: tuple[str, ...] = ()  # payloads of its QR codes and their like, distinct
    # whether `text` is known: it was read, or a look told that there can be none
    read: bool = False
    text: str = ""  # by OCR, lines kept


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A message in pieces."""

    raw: bytes  # as given to the parser
    headers: tuple[HeaderField, ...] = ()  # in order
    subject: str = ""
    from_: Mailbox | None = None  # first mailbox in From
    from_count: int = 0  # From fields; RFC 5322 wants exactly one
    # distinct ones in From; of each field's first mailbox before others
    from_domains: tuple[str, ...] = ()
    reply_to: tuple[Mailbox, ...] = ()
    recipients: tuple[Mailbox, ...] = ()  # of To and Cc
    message_id: str = ""  # without <>
    date: float | None = None  # Unix seconds of the Date field; None = none or unreadable
    parts: tuple[MessagePart, ...] = ()  # flat, in order, the message itself first
    mime_tree: str = ""  # e.g. multipart/mixed(text/plain,application/zip)
    depth: int = 0  # of the deepest part
    text: str = ""  # what a reader sees; lines kept
    normal_text: str = ""  # `text`, normalised: what is hashed, and what rules search
    # `text` without quotations, signature, footers and boilerplate; `text` itself where nothing
    # goes
    own_text: str = ""
    hidden_text: str = ""  # what HTML holds and does not show
    hidden_share: float = 0.0  # of all words in HTML, 0..1
    # how the HTML is built, whatever its words (src/oborona/message/html_skeleton.py); empty = like
    # everybody's
    skeleton: str = ""
    words: int = 0  # in `text`
    # in which the first text was read, as mail names it; empty = there is no text
    charset: str = ""
    language: str = ""  # of the text, ISO 639-1; empty = too little text, or none that is known
    links: tuple[MessageLink, ...] = ()  # distinct (url, shown, place), in order
    # distinct e-mail addresses in the text and mailto: links, lower case
    addresses: tuple[str, ...] = ()
    # distinct (kind, value, place): telephones, wallets, handles, lists
    entities: tuple[NamedEntity, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    # those that are worth a look, within limits; distinct by checksum
    pictures: tuple[Picture, ...] = ()
    documents: tuple[Picture, ...] = ()  # attached PDFs to look at
    size: int = 0  # octets of `raw`
    # the caller or a limit cut the message; what follows the cut was not looked at
    truncated: bool = False
    findings: tuple[Finding, ...] = ()  # distinct names, `oborona.message.findings.NAMES`

    def get(self, name: str) -> str | None:
        """Return the value of the first field called `name` (lower case), None when there is
        none.
        """
        for header in self.headers:
            if header.name == name:
                return header.value
        return None
