"""The types of shingles and their hash.

The hash is BLAKE2b (RFC 7693) of 8 octets, keyed by the site's secret, over the type's number and
the normalised piece: nobody outside can compute or aim at one, and equal pieces of two types never
meet. Numbers of types are for ever.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from oborona.message.fingerprint import Fingerprinter
from oborona.types import PAIR_MASK, Pair, Shingle

# Past NamedTuple's own constructor, which costs as much as the hash: 60 of these run for each
# message.
_new: Final = tuple.__new__
_number: Final = int.from_bytes
_OWN: Final = (1 << 64) - 1 & ~PAIR_MASK  # of a pair's hash: what is not its U's

MIN_KEY: Final = 16  # octets of the secret: 128 bits cannot be tried
LAST_TYPE: Final = 75  # the highest number that is given or set aside


class Type(IntEnum):
    """Numbers of shingle types; a number is never given to something else."""

    TEXT = 1
    TEMPLATE = 2
    OPENING = 3
    CLOSING = 4
    WORDS = 5
    CHARACTERS = 6
    SKELETON = 7
    SUBJECT = 8
    SUBJECT_TEMPLATE = 9
    ENTITY_RECIPIENT = 10
    ENTITY_RECIPIENTS = 11
    AUTHOR = 12
    AUTHOR_DOMAIN = 13
    FROM = 14
    CLIENT_IP = 15
    CLIENT_NETWORK = 16
    AS_NUMBER = 17
    HELO = 18
    RDNS = 19
    RDNS_DOMAIN = 20
    MAIL_FROM = 21
    MAIL_FROM_DOMAIN = 22
    FROM_DOMAIN = 23
    FROM_NAME = 24
    DKIM_DOMAIN = 25
    REPLY_TO = 26
    MESSAGE_ID_DOMAIN = 27
    MAILER = 28
    HEADER_ORDER = 29
    SENDER_RECIPIENT = 30
    SENDER_RECIPIENTS = 31
    SENDER_DOMAIN = 32
    SENDER_DOMAINS = 33
    IP_SENDER = 34
    IP_SENDERS = 35
    LINK_SENDER = 36
    LINK_SENDERS = 37
    TEXT_IP = 38
    TEXT_IPS = 39
    TEXT_RECIPIENT = 40
    TEXT_RECIPIENTS = 41
    ATTACHMENT_NAME = 42
    ATTACHMENT_TYPE = 43
    ATTACHMENT_SIZE = 44
    MEMBER_NAME = 45
    MEMBER_CHECKSUM = 46
    MIME_TREE = 47
    TEXT_SENDER = 48
    TEXT_SENDERS = 49
    URL = 50
    HOST = 51
    LINK_DOMAIN = 52
    PATH = 53
    PROVED_SENDER = 54
    PHONE = 55
    ADDRESS = 56
    WALLET = 57
    HANDLE = 58
    CODE = 59
    PICTURE_HOST = 60
    LIST = 61
    CHECKSUM = 62
    PICTURE = 63
    PICTURE_HASH = 64
    PICTURE_TEXT = 65
    PICTURE_PHONE = 66
    PICTURE_ADDRESS = 67
    ACCOUNT = 68
    COUNTRY = 70
    SENDER_COUNTRY = 71
    SENDER_COUNTRIES = 72
    LANGUAGE = 73
    ACCOUNT_IP = 74
    ACCOUNT_IPS = 75


class Group(NamedTuple):
    """One row of the type table."""

    name: str  # as people read it
    group: str
    meaning: str


TYPES: Final[dict[Type, Group]] = {
    Type.TEXT: Group("Text", "text", "the whole visible text, normalised"),
    Type.TEMPLATE: Group(
        "Template", "text", "the text without numbers, links, addresses and the recipient's name"
    ),
    Type.OPENING: Group(
        "Opening", "text", "the first 16 words of the template of what its sender wrote himself"
    ),
    Type.CLOSING: Group("Closing", "text", "the last 16 of them"),
    Type.WORDS: Group(
        "Words", "text", "one of 32 min-hashes over windows of words: near-duplicates share most"
    ),
    Type.CHARACTERS: Group(
        "Characters", "text", "one of 16 min-hashes over windows of letters, of a short text"
    ),
    Type.SKELETON: Group(
        "Skeleton", "text", "how its HTML is built: tags and classes, whatever its words"
    ),
    Type.SUBJECT: Group("Subject", "subject", "the subject, normalised"),
    Type.SUBJECT_TEMPLATE: Group(
        "SubjectTemplate",
        "subject",
        "the subject without Re:, numbers, links and the recipient's name",
    ),
    Type.ENTITY_RECIPIENT: Group(
        "EntityRecipient", "unique pairs", "whom a message is judged by, and recipient"
    ),
    Type.ENTITY_RECIPIENTS: Group(
        "EntityRecipients",
        "unique pairs",
        "recipients per client address, author, his domain, link domain, contact",
    ),
    Type.AUTHOR: Group(
        "Author", "sender", "address of the From field, where authentication proved it"
    ),
    Type.AUTHOR_DOMAIN: Group(
        "AuthorDomain", "sender", "its registrable domain, where that was proved"
    ),
    Type.FROM: Group("From", "sender", "address of the From field"),
    Type.CLIENT_IP: Group("ClientIp", "sender", "address of the SMTP client"),
    Type.CLIENT_NETWORK: Group("ClientNetwork", "sender", "its /24 (IPv4) or /64 (IPv6) network"),
    Type.AS_NUMBER: Group(
        "AsNumber", "sender", "the autonomous system that its address belongs to"
    ),
    Type.HELO: Group("Helo", "sender", "the name it said in HELO or EHLO"),
    Type.RDNS: Group("Rdns", "sender", "its verified host name"),
    Type.RDNS_DOMAIN: Group("RdnsDomain", "sender", "registrable domain of that name"),
    Type.MAIL_FROM: Group("MailFrom", "sender", "envelope sender"),
    Type.MAIL_FROM_DOMAIN: Group("MailFromDomain", "sender", "domain of the envelope sender"),
    Type.FROM_DOMAIN: Group("FromDomain", "sender", "registrable domain of the From address"),
    Type.FROM_NAME: Group("FromName", "sender", "display name of the From field"),
    Type.DKIM_DOMAIN: Group("DkimDomain", "sender", "domain whose DKIM signature passed"),
    Type.REPLY_TO: Group("ReplyTo", "sender", "address of the Reply-To field"),
    Type.MESSAGE_ID_DOMAIN: Group(
        "MessageIdDomain", "sender", "what stands after the @ of the Message-ID"
    ),
    Type.MAILER: Group(
        "Mailer", "sender", "X-Mailer or User-Agent: the program and its major version"
    ),
    Type.HEADER_ORDER: Group(
        "HeaderOrder",
        "sender",
        "names, in order, of the fields that the composing program wrote, 6 or more",
    ),
    Type.SENDER_RECIPIENT: Group("SenderRecipient", "unique pairs", "sender and recipient"),
    Type.SENDER_RECIPIENTS: Group("SenderRecipients", "unique pairs", "recipients per sender"),
    Type.SENDER_DOMAIN: Group("SenderDomain", "unique pairs", "sender and recipient's domain"),
    Type.SENDER_DOMAINS: Group("SenderDomains", "unique pairs", "recipients' domains per sender"),
    Type.IP_SENDER: Group("IpSender", "unique pairs", "client address and envelope sender"),
    Type.IP_SENDERS: Group("IpSenders", "unique pairs", "envelope senders per client address"),
    Type.LINK_SENDER: Group(
        "LinkSender", "unique pairs", "registrable domain of a link and From address"
    ),
    Type.LINK_SENDERS: Group("LinkSenders", "unique pairs", "From addresses per domain of a link"),
    Type.TEXT_IP: Group("TextIp", "unique pairs", "text and client address"),
    Type.TEXT_IPS: Group("TextIps", "unique pairs", "client addresses per text"),
    Type.TEXT_RECIPIENT: Group("TextRecipient", "unique pairs", "text and recipient"),
    Type.TEXT_RECIPIENTS: Group("TextRecipients", "unique pairs", "recipients per text"),
    Type.TEXT_SENDER: Group("TextSender", "unique pairs", "text and From address"),
    Type.TEXT_SENDERS: Group("TextSenders", "unique pairs", "From addresses per text"),
    Type.ATTACHMENT_NAME: Group("AttachmentName", "attachments", "file name"),
    Type.ATTACHMENT_TYPE: Group("AttachmentType", "attachments", "extension and declared type"),
    Type.ATTACHMENT_SIZE: Group(
        "AttachmentSize", "attachments", "size, and type by content, of one of 4 kB and more"
    ),
    Type.MEMBER_NAME: Group("MemberName", "attachments", "name of a file in an archive"),
    Type.MEMBER_CHECKSUM: Group(
        "MemberChecksum",
        "attachments",
        "CRC-32 and size of a file in an archive, whatever the archive",
    ),
    Type.MIME_TREE: Group("MimeTree", "attachments", "shape of the message, when it has parts"),
    Type.URL: Group("Url", "links", "a link to follow, normalised"),
    Type.HOST: Group("Host", "links", "host of such a link"),
    Type.LINK_DOMAIN: Group("LinkDomain", "links", "registrable domain of such a link"),
    Type.PATH: Group(
        "Path",
        "links",
        "such a link without what varies: domain, path, names of parameters; no numbers and tokens",
    ),
    Type.PROVED_SENDER: Group(
        "ProvedSender", "sender", "envelope sender for whose domain SPF passed"
    ),
    Type.PHONE: Group("Phone", "links", "telephone number in E.164"),
    Type.ADDRESS: Group("Address", "links", "e-mail address in the text"),
    Type.WALLET: Group("Wallet", "links", "address of a wallet whose checksum is right"),
    Type.HANDLE: Group("Handle", "links", "name on a messenger or network"),
    Type.CODE: Group(
        "Code", "links", "what a QR code or its like holds: a link, normalised, or a text"
    ),
    Type.PICTURE_HOST: Group("PictureHost", "links", "host from which a picture is loaded"),
    Type.LIST: Group("List", "links", "List-Id, or where the list is left"),
    Type.CHECKSUM: Group("Checksum", "attachments", "content of an attachment"),
    Type.PICTURE: Group("Picture", "pictures", "content of a picture"),
    Type.PICTURE_HASH: Group(
        "PictureHash",
        "pictures",
        "how a picture looks: one of 24 values, of which alike pictures share some",
    ),
    Type.PICTURE_TEXT: Group(
        "PictureText",
        "pictures",
        "one of the min-hashes of the text in pictures, what OCR confuses made one",
    ),
    Type.PICTURE_PHONE: Group("PicturePhone", "pictures", "telephone number in a picture"),
    Type.PICTURE_ADDRESS: Group(
        "PictureAddress", "pictures", "e-mail address, or host of a link, written in a picture"
    ),
    Type.ACCOUNT: Group("Account", "sender", "login of one of our own people"),
    Type.COUNTRY: Group("Country", "place", "country of the client's address, ISO 3166-1"),
    Type.SENDER_COUNTRY: Group("SenderCountry", "unique pairs", "From address and country"),
    Type.SENDER_COUNTRIES: Group("SenderCountries", "unique pairs", "countries per From address"),
    Type.LANGUAGE: Group(
        "Language", "place", "language of the text, and the charset in which it was written"
    ),
    Type.ACCOUNT_IP: Group(
        "AccountIp", "unique pairs", "login and client address, of IPv6 its /64"
    ),
    Type.ACCOUNT_IPS: Group("AccountIps", "unique pairs", "client addresses per login"),
}
"""Every type with its name, group and meaning"""


def joined(a: bytes, b: bytes) -> bytes:
    """Return what a unique pair of a and b is hashed over: a's length keeps ("ab", "c") and ("a",
    "bc") apart.
    """
    return b"%b%b%b" % (len(a).to_bytes(4, "big"), a, b)


class Hasher:
    """Hashes pieces under the site's secret."""

    __slots__ = ("_types", "fingerprinter")

    def __init__(self, key: bytes) -> None:
        """Prepare one hash state for each type.

        Args:
            key: the site's secret, 16 octets or more; of more than 64, its BLAKE2b stands for it.

        Raises:
            ValueError: the key is too short to be one.

        """
        if len(key) < MIN_KEY:
            raise ValueError(f"a key of {len(key)} octets; at least {MIN_KEY} are needed")
        if len(key) > hashlib.blake2b.MAX_KEY_SIZE:
            key = hashlib.blake2b(key).digest()
        # Indexed by number: an enum member hashes its name, in Python, at each look-up of a dict.
        self._types = [
            (number, hashlib.blake2b(bytes((number,)), digest_size=8, key=key).copy)
            for number in range(LAST_TYPE + 1)
        ]
        self.fingerprinter = Fingerprinter(key)

    def shingle(self, kind: int, text: str) -> Shingle:
        """Return the shingle of a normalised piece."""
        return self.octets(kind, text.encode("utf-8", "surrogatepass"))

    def octets(self, kind: int, octets: bytes) -> Shingle:
        """Return the shingle of a piece that is octets already."""
        number, prepared = self._types[kind]
        state = prepared()
        state.update(octets)
        return _new(Shingle, (number, _number(state.digest(), "big")))

    def each(self, kind: int, pieces: Sequence[bytes]) -> list[Shingle]:
        """Return the shingles of pieces that are octets already, each as `octets` does, in less
        time.
        """
        number, prepared = self._types[kind]
        found = []
        for octets in pieces:
            state = prepared()
            state.update(octets)
            found.append(_new(Shingle, (number, _number(state.digest(), "big"))))
        return found

    def pairs(
        self, both: int, distinct: int, each_a: Sequence[bytes], each_b: Sequence[bytes]
    ) -> list[Pair]:
        """Return the unique pairs of each a with each b, all of them octets already.

        P is a shingle of the type `both`, over a's length, a and b; U one of the type `distinct`,
        over a. The hash of P takes its first PAIR_BITS from U's, so that a cluster finds both in
        one place.
        """
        number, prepared = self._types[both]
        found = []
        for a, unique in zip(each_a, self.each(distinct, each_a), strict=True):
            place = unique[1] & PAIR_MASK
            for b in each_b:
                state = prepared()
                state.update(joined(a, b))
                own = _number(state.digest(), "big") & _OWN
                found.append(_new(Pair, (_new(Shingle, (number, place | own)), unique)))
        return found
