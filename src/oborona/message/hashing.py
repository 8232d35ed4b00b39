"""The types of shingles and their hash.

The hash is BLAKE2b (RFC 7693) of 8 octets, keyed by the site's secret, over the type's number and
the normalised piece: nobody outside can compute or aim at one, and equal pieces of two types never
meet. Numbers of types are for ever.
"""

from __future__ import annotations

import hashlib
from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from oborona.message.fingerprint import Fingerprinter
from oborona.message.piece_hasher import PieceHasher
from oborona.types import PAIR_MASK, Shingle, UniquePair

if TYPE_CHECKING:
    NATIVE = True
else:
    try:
        from oborona._core import PieceHasher

        NATIVE = True
    except ImportError:  # it could not be built here: its twin does the same
        NATIVE = False

MIN_KEY: Final = 16  # octets of the secret: 128 bits cannot be tried
LAST_TYPE: Final = 79  # the highest number that is given or set aside


class ShingleType(IntEnum):
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
    FLOW_DESTINATION = 76
    FLOW_DESTINATIONS = 77
    ACCOUNT_COUNTRY = 78
    ACCOUNT_COUNTRIES = 79


class ShingleTypeInfo(NamedTuple):
    """One row of the type table."""

    name: str  # as people read it
    group: str
    meaning: str


TYPES: Final[dict[ShingleType, ShingleTypeInfo]] = {
    ShingleType.TEXT: ShingleTypeInfo("Text", "text", "the whole visible text, normalised"),
    ShingleType.TEMPLATE: ShingleTypeInfo(
        "Template", "text", "the text without numbers, links, addresses and the recipient's name"
    ),
    ShingleType.OPENING: ShingleTypeInfo(
        "Opening", "text", "the first 16 words of the template of what its sender wrote himself"
    ),
    ShingleType.CLOSING: ShingleTypeInfo("Closing", "text", "the last 16 of them"),
    ShingleType.WORDS: ShingleTypeInfo(
        "Words", "text", "one of 32 min-hashes over windows of words: near-duplicates share most"
    ),
    ShingleType.CHARACTERS: ShingleTypeInfo(
        "Characters", "text", "one of 16 min-hashes over windows of letters, of a short text"
    ),
    ShingleType.SKELETON: ShingleTypeInfo(
        "Skeleton", "text", "how its HTML is built: tags and classes, whatever its words"
    ),
    ShingleType.SUBJECT: ShingleTypeInfo("Subject", "subject", "the subject, normalised"),
    ShingleType.SUBJECT_TEMPLATE: ShingleTypeInfo(
        "SubjectTemplate",
        "subject",
        "the subject without Re:, numbers, links and the recipient's name",
    ),
    ShingleType.ENTITY_RECIPIENT: ShingleTypeInfo(
        "EntityRecipient", "unique pairs", "whom a message is judged by, and recipient"
    ),
    ShingleType.ENTITY_RECIPIENTS: ShingleTypeInfo(
        "EntityRecipients",
        "unique pairs",
        "recipients per client address, author, his domain, link domain, contact",
    ),
    ShingleType.AUTHOR: ShingleTypeInfo(
        "Author", "sender", "address of the From field, where authentication proved it"
    ),
    ShingleType.AUTHOR_DOMAIN: ShingleTypeInfo(
        "AuthorDomain", "sender", "its registrable domain, where that was proved"
    ),
    ShingleType.FROM: ShingleTypeInfo("From", "sender", "address of the From field"),
    ShingleType.CLIENT_IP: ShingleTypeInfo("ClientIp", "sender", "address of the SMTP client"),
    ShingleType.CLIENT_NETWORK: ShingleTypeInfo(
        "ClientNetwork", "sender", "its /24 (IPv4) or /64 (IPv6) network"
    ),
    ShingleType.AS_NUMBER: ShingleTypeInfo(
        "AsNumber", "sender", "the autonomous system that its address belongs to"
    ),
    ShingleType.HELO: ShingleTypeInfo("Helo", "sender", "the name it said in HELO or EHLO"),
    ShingleType.RDNS: ShingleTypeInfo("Rdns", "sender", "its verified host name"),
    ShingleType.RDNS_DOMAIN: ShingleTypeInfo(
        "RdnsDomain", "sender", "registrable domain of that name"
    ),
    ShingleType.MAIL_FROM: ShingleTypeInfo("MailFrom", "sender", "envelope sender"),
    ShingleType.MAIL_FROM_DOMAIN: ShingleTypeInfo(
        "MailFromDomain", "sender", "domain of the envelope sender"
    ),
    ShingleType.FROM_DOMAIN: ShingleTypeInfo(
        "FromDomain", "sender", "registrable domain of the From address"
    ),
    ShingleType.FROM_NAME: ShingleTypeInfo("FromName", "sender", "display name of the From field"),
    ShingleType.DKIM_DOMAIN: ShingleTypeInfo(
        "DkimDomain", "sender", "domain whose DKIM signature passed"
    ),
    ShingleType.REPLY_TO: ShingleTypeInfo("ReplyTo", "sender", "address of the Reply-To field"),
    ShingleType.MESSAGE_ID_DOMAIN: ShingleTypeInfo(
        "MessageIdDomain", "sender", "what stands after the @ of the Message-ID"
    ),
    ShingleType.MAILER: ShingleTypeInfo(
        "Mailer", "sender", "X-Mailer or User-Agent: the program and its major version"
    ),
    ShingleType.HEADER_ORDER: ShingleTypeInfo(
        "HeaderOrder",
        "sender",
        "names, in order, of the fields that the composing program wrote, 6 or more",
    ),
    ShingleType.SENDER_RECIPIENT: ShingleTypeInfo(
        "SenderRecipient", "unique pairs", "sender and recipient"
    ),
    ShingleType.SENDER_RECIPIENTS: ShingleTypeInfo(
        "SenderRecipients", "unique pairs", "recipients per sender"
    ),
    ShingleType.SENDER_DOMAIN: ShingleTypeInfo(
        "SenderDomain", "unique pairs", "sender and recipient's domain"
    ),
    ShingleType.SENDER_DOMAINS: ShingleTypeInfo(
        "SenderDomains", "unique pairs", "recipients' domains per sender"
    ),
    ShingleType.IP_SENDER: ShingleTypeInfo(
        "IpSender", "unique pairs", "client address and envelope sender"
    ),
    ShingleType.IP_SENDERS: ShingleTypeInfo(
        "IpSenders", "unique pairs", "envelope senders per client address"
    ),
    ShingleType.LINK_SENDER: ShingleTypeInfo(
        "LinkSender", "unique pairs", "registrable domain of a link and From address"
    ),
    ShingleType.LINK_SENDERS: ShingleTypeInfo(
        "LinkSenders", "unique pairs", "From addresses per domain of a link"
    ),
    ShingleType.TEXT_IP: ShingleTypeInfo("TextIp", "unique pairs", "text and client address"),
    ShingleType.TEXT_IPS: ShingleTypeInfo("TextIps", "unique pairs", "client addresses per text"),
    ShingleType.TEXT_RECIPIENT: ShingleTypeInfo(
        "TextRecipient", "unique pairs", "text and recipient"
    ),
    ShingleType.TEXT_RECIPIENTS: ShingleTypeInfo(
        "TextRecipients", "unique pairs", "recipients per text"
    ),
    ShingleType.TEXT_SENDER: ShingleTypeInfo("TextSender", "unique pairs", "text and From address"),
    ShingleType.TEXT_SENDERS: ShingleTypeInfo(
        "TextSenders", "unique pairs", "From addresses per text"
    ),
    ShingleType.ATTACHMENT_NAME: ShingleTypeInfo("AttachmentName", "attachments", "file name"),
    ShingleType.ATTACHMENT_TYPE: ShingleTypeInfo(
        "AttachmentType", "attachments", "extension and declared type"
    ),
    ShingleType.ATTACHMENT_SIZE: ShingleTypeInfo(
        "AttachmentSize", "attachments", "size, and type by content, of one of 4 kB and more"
    ),
    ShingleType.MEMBER_NAME: ShingleTypeInfo(
        "MemberName", "attachments", "name of a file in an archive"
    ),
    ShingleType.MEMBER_CHECKSUM: ShingleTypeInfo(
        "MemberChecksum",
        "attachments",
        "CRC-32 and size of a file in an archive, whatever the archive",
    ),
    ShingleType.MIME_TREE: ShingleTypeInfo(
        "MimeTree", "attachments", "shape of the message, when it has parts"
    ),
    ShingleType.URL: ShingleTypeInfo("Url", "links", "a link to follow, normalised"),
    ShingleType.HOST: ShingleTypeInfo("Host", "links", "host of such a link"),
    ShingleType.LINK_DOMAIN: ShingleTypeInfo(
        "LinkDomain", "links", "registrable domain of such a link"
    ),
    ShingleType.PATH: ShingleTypeInfo(
        "Path",
        "links",
        "such a link without what varies: domain, path, names of parameters; no numbers and tokens",
    ),
    ShingleType.PROVED_SENDER: ShingleTypeInfo(
        "ProvedSender", "sender", "envelope sender for whose domain SPF passed"
    ),
    ShingleType.PHONE: ShingleTypeInfo("Phone", "links", "telephone number in E.164"),
    ShingleType.ADDRESS: ShingleTypeInfo("Address", "links", "e-mail address in the text"),
    ShingleType.WALLET: ShingleTypeInfo(
        "Wallet", "links", "address of a wallet whose checksum is right"
    ),
    ShingleType.HANDLE: ShingleTypeInfo("Handle", "links", "name on a messenger or network"),
    ShingleType.CODE: ShingleTypeInfo(
        "Code", "links", "what a QR code or its like holds: a link, normalised, or a text"
    ),
    ShingleType.PICTURE_HOST: ShingleTypeInfo(
        "PictureHost", "links", "host from which a picture is loaded"
    ),
    ShingleType.LIST: ShingleTypeInfo("List", "links", "List-Id, or where the list is left"),
    ShingleType.CHECKSUM: ShingleTypeInfo("Checksum", "attachments", "content of an attachment"),
    ShingleType.PICTURE: ShingleTypeInfo("Picture", "pictures", "content of a picture"),
    ShingleType.PICTURE_HASH: ShingleTypeInfo(
        "PictureHash",
        "pictures",
        "how a picture looks: one of 24 values, of which alike pictures share some",
    ),
    ShingleType.PICTURE_TEXT: ShingleTypeInfo(
        "PictureText",
        "pictures",
        "one of the min-hashes of the text in pictures, what OCR confuses made one",
    ),
    ShingleType.PICTURE_PHONE: ShingleTypeInfo(
        "PicturePhone", "pictures", "telephone number in a picture"
    ),
    ShingleType.PICTURE_ADDRESS: ShingleTypeInfo(
        "PictureAddress", "pictures", "e-mail address, or host of a link, written in a picture"
    ),
    ShingleType.ACCOUNT: ShingleTypeInfo("Account", "sender", "login of one of our own people"),
    ShingleType.COUNTRY: ShingleTypeInfo(
        "Country", "place", "country of the client's address, ISO 3166-1"
    ),
    ShingleType.SENDER_COUNTRY: ShingleTypeInfo(
        "SenderCountry", "unique pairs", "From address and country"
    ),
    ShingleType.SENDER_COUNTRIES: ShingleTypeInfo(
        "SenderCountries", "unique pairs", "countries per From address"
    ),
    ShingleType.LANGUAGE: ShingleTypeInfo(
        "Language", "place", "language of the text, and the charset in which it was written"
    ),
    ShingleType.ACCOUNT_IP: ShingleTypeInfo(
        "AccountIp", "unique pairs", "login and client address, of IPv6 its /64"
    ),
    ShingleType.ACCOUNT_IPS: ShingleTypeInfo(
        "AccountIps", "unique pairs", "client addresses per login"
    ),
    ShingleType.ACCOUNT_COUNTRY: ShingleTypeInfo(
        "AccountCountry", "unique pairs", "login and country of the client's address"
    ),
    ShingleType.ACCOUNT_COUNTRIES: ShingleTypeInfo(
        "AccountCountries", "unique pairs", "countries of client addresses per login"
    ),
    ShingleType.FLOW_DESTINATION: ShingleTypeInfo(
        "FlowDestination", "unique pairs", "address of a machine of ours and where it sent mail"
    ),
    ShingleType.FLOW_DESTINATIONS: ShingleTypeInfo(
        "FlowDestinations", "unique pairs", "where a machine of ours sent mail, per its address"
    ),
}
"""Every type with its name, group and meaning"""


class Hasher(PieceHasher):
    """Hashes pieces under the site's secret: by the native core where it was built, in Python
    otherwise, with the same results.

    Attributes:
        fingerprinter: of texts, under the same secret.
    """

    __slots__ = ("fingerprinter",)

    fingerprinter: Fingerprinter

    def __new__(cls, key: bytes) -> Self:
        """Prepare the state of the key.

        Args:
            key: the site's secret, 16 octets or more; of more than 64, its BLAKE2b stands for it.

        Raises:
            ValueError: the key is too short to be one.

        """
        if len(key) < MIN_KEY:
            raise ValueError(f"a key of {len(key)} octets; at least {MIN_KEY} are needed")
        if len(key) > hashlib.blake2b.MAX_KEY_SIZE:
            key = hashlib.blake2b(key).digest()
        made = super().__new__(cls, key, Shingle, UniquePair, PAIR_MASK)
        made.fingerprinter = Fingerprinter(key)
        return made
