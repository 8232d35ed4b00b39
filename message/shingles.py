"""The pieces of a message that are counted, as shingles and unique pairs.

Pieces are distinct, never empty, never shorter than a stated minimum. Of a unique pair (a, b): P = hash(a, b), U = hash(a), and U counts
distinct b. For texts `a` is each of some min-hashes, so that a campaign of varied texts meets itself; a text too short for a
fingerprint is its template.

Limits: `MAX_*` of each kind per message, so that one message cannot write thousands of counters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from ipaddress import ip_address
from itertools import islice
from typing import Final

from oborona import domains
from oborona.message import attached_pieces, path_templates, templates
from oborona.message.hashing import TYPES, Group, Hasher, Type
from oborona.message.model import Kind, Message, Place
from oborona.message.normalise import normalise
from oborona.message.own_words import own_words
from oborona.types import Envelope, Pair, Pieces, Shingle

__all__ = ["TYPES", "Group", "Hasher", "Type", "client_network", "envelope_shingles", "shingles"]

MIN_TEXT_WORDS: Final = 8  # below: "Thanks, see you tomorrow" of thousands of people
MIN_TEMPLATE_WORDS: Final = 5
EDGE_WORDS: Final = 16  # of opening and closing: a sentence; fewer would be greetings and "best regards"
MIN_SUBJECT: Final = 6  # characters: above "hi", "hello", "test"
MIN_SUBJECT_TEMPLATE_WORDS: Final = 2
MIN_NAME: Final = 3  # characters of a display name

MAX_URLS: Final = 30
MAX_HOSTS: Final = 20
MAX_DOMAINS: Final = 20
MAX_ADDRESSES: Final = 10
MAX_REPLY_TO: Final = 5
MAX_DKIM_DOMAINS: Final = 4
MAX_PICTURE_HOSTS: Final = 10
MAX_CONTACTS: Final = 10  # telephones, wallets and handles, of each
MAX_LISTS: Final = 2  # names of the list, and ways to leave it, of each
MAX_PAIRED_RECIPIENTS: Final = 50  # recipients of one message that unique pairs look at
IP_MINIMA: Final = 8  # min-hashes that count client addresses
RECIPIENT_MINIMA: Final = 4  # min-hashes that count recipients: each costs a pair per recipient

_ENTITIES: Final = (
    (Kind.PHONE, Type.PHONE, MAX_CONTACTS),
    (Kind.WALLET, Type.WALLET, MAX_CONTACTS),
    (Kind.HANDLE, Type.HANDLE, MAX_CONTACTS),
    (Kind.LIST, Type.LIST, MAX_LISTS),
    (Kind.UNSUBSCRIBE, Type.LIST, MAX_LISTS),
)


def shingles(message: Message, envelope: Envelope, hasher: Hasher, proved: Sequence[str] = ()) -> Pieces:
    """Return everything one message counts under: distinct shingles, and unique pairs.

    Args:
        message: parsed.
        envelope: of the message; what it does not know gives no shingle.
        hasher: holds the site's secret.
        proved: domains whose DKIM signatures passed, lower case.
    """
    found: dict[Shingle, None] = {}

    def add(kind: Type, piece: str) -> None:
        if piece:
            found[hasher.shingle(kind, piece)] = None

    subjects = _text(message, hasher, found)
    _envelope(envelope, add)
    _sender(message, add)
    for domain in proved[:MAX_DKIM_DOMAINS]:
        add(Type.DKIM_DOMAIN, domain)
    _contents(message, hasher, found, add)
    _entities(message, add)
    return Pieces(shingles=tuple(found), pairs=_pairs(message, envelope, hasher, subjects))


def _text(message: Message, hasher: Hasher, found: dict[Shingle, None]) -> list[list[bytes]]:
    """Hash text and subject; return what stands for the text in unique pairs: its fingerprints, or itself."""
    reader: frozenset[str] = frozenset()
    if len(message.recipients) == 1:
        box = message.recipients[0]
        names = [normalise(box.name), normalise(box.address.partition("@")[0])]
        reader = templates.reader_words(message.recipients, names)
    words = templates.words(message.normal_text, reader)
    stands_for: list[list[bytes]] = []
    if message.words >= MIN_TEXT_WORDS:
        found[hasher.shingle(Type.TEXT, message.normal_text)] = None
    template = " ".join(words)
    if len(words) >= MIN_TEMPLATE_WORDS:
        found[hasher.shingle(Type.TEMPLATE, template)] = None
    if len(words) >= EDGE_WORDS:
        found[hasher.shingle(Type.OPENING, " ".join(words[:EDGE_WORDS]))] = None
        found[hasher.shingle(Type.CLOSING, " ".join(words[-EDGE_WORDS:]))] = None
    own = own_words(message.text)
    likeness = hasher.fingerprinter.likeness(
        words if own is message.text else templates.words(normalise(own), reader)
    )
    for kind, minima in ((Type.CHARACTERS, likeness.characters), (Type.WORDS, likeness.words)):
        if minima:
            slots = [slot.to_bytes(1, "big") + value.to_bytes(8, "big") for slot, value in enumerate(minima)]
            for slot in slots:
                found[hasher.octets(kind, slot)] = None
            stands_for.append(slots)
    if not stands_for and len(words) >= MIN_TEMPLATE_WORDS:
        stands_for.append([template.encode("utf-8", "surrogatepass")])
    if message.skeleton:
        found[hasher.shingle(Type.SKELETON, message.skeleton)] = None
    subject = normalise(message.subject)
    if len(subject) >= MIN_SUBJECT:
        found[hasher.shingle(Type.SUBJECT, subject)] = None
    subject_words = templates.words(templates.unanswered(subject), reader)
    if len(subject_words) >= MIN_SUBJECT_TEMPLATE_WORDS:
        found[hasher.shingle(Type.SUBJECT_TEMPLATE, " ".join(subject_words))] = None
    return stands_for


def envelope_shingles(envelope: Envelope, hasher: Hasher) -> Pieces:
    """Return what is known before the message comes: client, HELO, MAIL FROM, and the pair that counts an address's senders."""
    found: dict[Shingle, None] = {}

    def add(kind: Type, piece: str) -> None:
        if piece:
            found[hasher.shingle(kind, piece)] = None

    _envelope(envelope, add)
    return Pieces(shingles=tuple(found), pairs=_senders_per_ip(envelope, hasher))


def _senders_per_ip(envelope: Envelope, hasher: Hasher) -> tuple[Pair, ...]:
    if not envelope.client.ip:
        return ()
    ip = envelope.client.ip.encode("utf-8", "surrogatepass")
    # a bounce has no sender; its address is asked about all the same
    sender = envelope.sender.lower().encode("utf-8", "surrogatepass")
    return _pairs_of(hasher, Type.IP_SENDER, Type.IP_SENDERS, ip, [sender])


def _envelope(envelope: Envelope, add: Callable[[Type, str], None]) -> None:
    """Hash who sent the message, as the mail server saw it."""
    client = envelope.client
    add(Type.CLIENT_IP, client.ip)
    add(Type.CLIENT_NETWORK, client_network(client.ip))
    add(Type.RDNS, client.name.lower().rstrip("."))
    add(Type.HELO, envelope.helo.lower().rstrip("."))
    sender = envelope.sender.lower()
    add(Type.MAIL_FROM, sender)
    add(Type.MAIL_FROM_DOMAIN, sender.rpartition("@")[2] if "@" in sender else "")


def _sender(message: Message, add: Callable[[Type, str], None]) -> None:
    """Hash who sent the message by its own words."""
    if message.from_ is not None:
        box = message.from_
        add(Type.FROM, box.address.lower())
        add(Type.FROM_DOMAIN, domains.registrable(box.domain) if box.domain else "")
        name = normalise(box.name)
        if len(name) >= MIN_NAME:
            add(Type.FROM_NAME, name)
    for box in message.reply_to[:MAX_REPLY_TO]:
        add(Type.REPLY_TO, box.address.lower())
    add(
        Type.MESSAGE_ID_DOMAIN,
        message.message_id.rpartition("@")[2].lower() if "@" in message.message_id else "",
    )


def _contents(
    message: Message, hasher: Hasher, found: dict[Shingle, None], add: Callable[[Type, str], None]
) -> None:
    """Hash links, addresses and attachments."""
    followed = [link for link in message.links if link.place is not Place.PICTURE]
    for url in list(dict.fromkeys(link.url for link in followed))[:MAX_URLS]:
        add(Type.URL, url)
    for host in list(dict.fromkeys(link.host for link in followed))[:MAX_HOSTS]:
        add(Type.HOST, host)
    for domain in list(dict.fromkeys(link.domain for link in followed))[:MAX_DOMAINS]:
        add(Type.LINK_DOMAIN, domain)
    for address in message.addresses[:MAX_ADDRESSES]:
        add(Type.ADDRESS, address)
    if "(" in message.mime_tree:
        add(Type.MIME_TREE, message.mime_tree)
    for kind, piece in attached_pieces.pieces(message.attachments):
        found[hasher.octets(kind, piece)] = None


def _entities(message: Message, add: Callable[[Type, str], None]) -> None:
    """Hash what links have in common from copy to copy, where pictures come from, and whom the message names."""
    followed = {link.url: link for link in message.links if link.place is not Place.PICTURE}
    for link in islice(followed.values(), MAX_URLS):
        add(Type.PATH, path_templates.template(link.url, link.host, link.domain))
    pictures = dict.fromkeys(link.host for link in message.links if link.place is Place.PICTURE)
    for host in islice(pictures, MAX_PICTURE_HOSTS):
        add(Type.PICTURE_HOST, host)
    for kind, type_, limit in _ENTITIES:
        values = dict.fromkeys(entity.value for entity in message.entities if entity.kind is kind)
        for value in islice(values, limit):
            add(type_, value)


@lru_cache(maxsize=4096)
def client_network(ip: str) -> str:
    """Return the /24 or /64 network of a client address in canonical text, empty when there is none."""
    try:
        address = ip_address(ip)
    except ValueError:
        return ""
    if address.version == 4:
        return ip.rpartition(".")[0] + ".0/24"
    if address.ipv4_mapped is not None:
        return client_network(str(address.ipv4_mapped))
    return str(type(address)(int(address) >> 64 << 64)) + "/64"


def _pairs(
    message: Message, envelope: Envelope, hasher: Hasher, stands_for: list[list[bytes]]
) -> tuple[Pair, ...]:
    """Return the unique pairs: recipients per sender, client addresses per text, recipients per text."""
    pairs = list(_senders_per_ip(envelope, hasher))
    recipients = list(
        dict.fromkeys(each.lower().encode("utf-8", "surrogatepass") for each in envelope.recipients)
    )
    recipients = recipients[:MAX_PAIRED_RECIPIENTS]
    sender = envelope.sender.lower() or (message.from_.address.lower() if message.from_ else "")

    def add(both: Type, distinct: Type, a: bytes, each_b: list[bytes]) -> None:
        if a and each_b:
            pairs.extend(_pairs_of(hasher, both, distinct, a, each_b))

    add(Type.SENDER_RECIPIENT, Type.SENDER_RECIPIENTS, sender.encode("utf-8", "surrogatepass"), recipients)
    ip = [envelope.client.ip.encode("utf-8", "surrogatepass")] if envelope.client.ip else []
    for values in stands_for:
        for text in values[:IP_MINIMA]:
            add(Type.TEXT_IP, Type.TEXT_IPS, text, ip)
        for text in values[:RECIPIENT_MINIMA]:
            add(Type.TEXT_RECIPIENT, Type.TEXT_RECIPIENTS, text, recipients)
    return tuple(pairs)


def _pairs_of(
    hasher: Hasher, both: Type, distinct: Type, a: bytes, each_b: Sequence[bytes]
) -> tuple[Pair, ...]:
    unique = hasher.octets(distinct, a)
    prefix = len(a).to_bytes(4, "big") + a  # the length keeps ("ab", "c") and ("a", "bc") apart
    return tuple(hasher.pair(both, prefix + b, unique) for b in each_b)
