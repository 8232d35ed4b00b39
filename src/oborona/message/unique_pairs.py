"""The unique pairs of a message: how many different b come with an a, counted once a day each.

P = hash(a, b), U = hash(a), and U counts distinct b. For texts `a` is each of some min-hashes, so
that a campaign of varied texts meets itself; a text too short for a fingerprint is its template.

Two words for who sends: the **sender** of what a sender does is MAIL FROM (of a bounce its From),
that of limits and reputation; the **author**, of how many send a text or a link, is From, as
readers see it: a list's own MAIL FROM is another for each reader, and would make one sender many.

From where a text comes is counted by what nobody has for nothing, proved and not proved apart: by
the domains of MAIL FROM that SPF proved, or else by client addresses, an IPv6 network being one.
Copies that somebody else sends of a letter, under whatever name, so count among themselves; its own
sender's do not.

Limits: each pair is a look-up and up to two writes of the store, so `MAX_PAIRED_*` and `*_MINIMA`
bound them: 13 to 25 of usual mail, and two to six more for how many people an entity reaches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from oborona.client_network import client_home
from oborona.domains import registrable
from oborona.message.hashing import Hasher, ShingleType
from oborona.message.model import EntityKind, EntityLocation, Message
from oborona.types import Envelope, Location, ProvedIdentity, Shingle, UniquePair

MAX_PAIRED_RECIPIENTS: Final = 50  # recipients of one message that unique pairs look at
MAX_PAIRED_DOMAINS: Final = 10  # domains among these recipients: a site has few
MAX_PAIRED_LINKS: Final = 5  # domains of links, the first ones: where a reader clicks
IP_MINIMA: Final = 8  # min-hashes that count client addresses
RECIPIENT_MINIMA: Final = 4  # min-hashes that count recipients: each costs a pair per recipient
SENDER_MINIMA: Final = 4  # min-hashes that count authors
# recipients of one message that count for its entities: who wrote to more is known
MAX_REACHED: Final = 8
# the same of an account: stolen, it writes to as many as one message may have
MAX_ACCOUNT_REACHED: Final = 1000
MAX_REACHING: Final = 2  # link domains that count recipients: where a reader clicks first
_PROVED: Final = b"\0"  # begins no value of a text
_KNOWN: Final = b"known "  # begins what no address does
MAX_CONTACTS: Final = 4  # pairs that tell whether a recipient knows the sender: a read each


def envelope_pairs(
    envelope: Envelope, hasher: Hasher, location: Location
) -> tuple[UniquePair, ...]:
    """Return the pairs that are known before the message comes: senders per client address,
    addresses and countries per account.

    Args:
        envelope: as far as it is known.
        hasher: holds the site's secret.
        location: of the client.
    """
    if not envelope.client.ip:
        return ()
    ip = _octets(envelope.client.ip)
    # a bounce has no sender; its address is asked about all the same
    sender = _octets(envelope.sender.lower())
    pairs = hasher.pairs(ShingleType.IP_SENDER, ShingleType.IP_SENDERS, [ip], [sender])
    if envelope.login:
        login = _octets(envelope.login.lower())
        home = _octets(client_home(envelope.client.ip))
        pairs += hasher.pairs(ShingleType.ACCOUNT_IP, ShingleType.ACCOUNT_IPS, [login], [home])
        if location.country:
            country = location.country.encode()
            pairs += hasher.pairs(
                ShingleType.ACCOUNT_COUNTRY, ShingleType.ACCOUNT_COUNTRIES, [login], [country]
            )
    return tuple(pairs)


def known_authors_key(ip: str, hasher: Hasher) -> tuple[Shingle, ...]:
    """Return what counts the known authors who write from a client's address: the U of
    `known_author_pair`.

    Args:
        ip: of the client; empty = unknown, and nothing counts.
        hasher: holds the site's secret.
    """
    return (hasher.octets(ShingleType.IP_SENDERS, _KNOWN + _octets(ip)),) if ip else ()


def account_place(envelope: Envelope, hasher: Hasher) -> tuple[Shingle, ...]:
    """Return what counts what became of mail of an account from its client's address.

    `_KNOWN` keeps it apart from the pairs of `envelope_pairs`.

    Args:
        envelope: of the message; without a login or an address nothing counts.
        hasher: holds the site's secret.
    """
    if not (envelope.login and envelope.client.ip):
        return ()
    who = _octets(envelope.login.lower())
    where = _octets(client_home(envelope.client.ip))
    return (hasher.octets(ShingleType.ACCOUNT_IP, _KNOWN + who + b"\0" + where),)


def known_author_pair(ip: str, author: str, hasher: Hasher) -> tuple[UniquePair, ...]:
    """Return the pair that counts a known author, who was proved, for a client's address.

    `_KNOWN` keeps it apart from the pairs of `envelope_pairs`.

    Args:
        ip: of the client.
        author: in normal form.
        hasher: holds the site's secret.
    """
    if not (ip and author):
        return ()
    return tuple(
        hasher.pairs(
            ShingleType.IP_SENDER, ShingleType.IP_SENDERS, [_KNOWN + _octets(ip)], [_octets(author)]
        )
    )


def pairs(
    message: Message,
    envelope: Envelope,
    hasher: Hasher,
    stands_for: list[list[bytes]],
    location: Location,
    identity: ProvedIdentity,
) -> tuple[UniquePair, ...]:
    """Return all pairs of a message.

    Args:
        message: parsed.
        envelope: of the message; what it does not know makes no pair.
        hasher: holds the site's secret.
        stands_for: of the text: the values of each of its fingerprints, or itself.
        location: of the client.
        identity: sent it, as far as it was proved.
    """
    result = list(envelope_pairs(envelope, hasher, location))

    def add(
        pair_type: ShingleType,
        distinct: ShingleType,
        each_a: Sequence[bytes],
        each_b: Sequence[bytes],
    ) -> None:
        if each_a and each_b:  # else U is not needed
            result.extend(hasher.pairs(pair_type, distinct, each_a, each_b))

    recipients = _distinct(map(str.lower, envelope.recipients), MAX_PAIRED_RECIPIENTS)
    split = (
        recipient.rpartition("@")
        for recipient in islice(envelope.recipients, MAX_PAIRED_RECIPIENTS)
    )
    homes = _distinct(
        (home.lower().rstrip(".") for _, sign, home in split if sign), MAX_PAIRED_DOMAINS
    )
    by_envelope, by_header = (
        _octets(envelope.sender.lower()),
        _octets(message.from_.address.lower() if message.from_ else ""),
    )
    senders, authors = _given(by_envelope or by_header), _given(by_header or by_envelope)
    add(ShingleType.SENDER_RECIPIENT, ShingleType.SENDER_RECIPIENTS, senders, recipients)
    add(ShingleType.SENDER_DOMAIN, ShingleType.SENDER_DOMAINS, senders, homes)
    add(
        ShingleType.SENDER_COUNTRY,
        ShingleType.SENDER_COUNTRIES,
        authors,
        _given(location.country.encode()),
    )
    linked = (link.domain for link in message.links if link.place is not EntityLocation.PICTURE)
    add(
        ShingleType.LINK_SENDER,
        ShingleType.LINK_SENDERS,
        _distinct(linked, MAX_PAIRED_LINKS),
        authors,
    )
    at = registrable(identity.sender.rpartition("@")[2])
    apart, sources = (
        (_PROVED, _octets(at)) if at else (b"", _octets(client_home(envelope.client.ip)))
    )
    for values in stands_for:
        minima = [apart + value for value in values[:IP_MINIMA]] if apart else values[:IP_MINIMA]
        add(ShingleType.TEXT_IP, ShingleType.TEXT_IPS, minima, _given(sources))
        add(
            ShingleType.TEXT_RECIPIENT,
            ShingleType.TEXT_RECIPIENTS,
            values[:RECIPIENT_MINIMA],
            recipients,
        )
        add(ShingleType.TEXT_SENDER, ShingleType.TEXT_SENDERS, values[:SENDER_MINIMA], authors)
    return tuple(result)


def recipient_pairs(
    message: Message, envelope: Envelope, hasher: Hasher, identity: ProvedIdentity
) -> tuple[UniquePair, ...]:
    """Return the pairs of what a message is judged by with its recipients, so that it is known how
    many people each reaches.

    What it is judged by: the proved author first, the client's address, the author's domain, the
    account, the proved sender where there is no author, the first link domains that are not the
    author's own, the first telephone number and the first wallet. The number of its type keeps a
    domain that writes and a domain that is linked to apart.

    Args:
        message: parsed.
        envelope: of the message.
        hasher: holds the site's secret.
        identity: sent it, as far as it was proved.
    """
    linked = (link.domain for link in message.links if link.place is not EntityLocation.PICTURE)
    entities = (
        (ShingleType.AUTHOR, (identity.author,)),
        (ShingleType.CLIENT_IP, (client_home(envelope.client.ip),)),
        (ShingleType.AUTHOR_DOMAIN, (identity.author_domain,)),
        (ShingleType.ACCOUNT, (identity.account,)),
        (ShingleType.PROVED_SENDER, ("" if identity.author else identity.sender,)),
        (
            ShingleType.LINK_DOMAIN,
            (domain for domain in linked if domain != identity.author_domain),
        ),
        (ShingleType.PHONE, _entity_values(message, EntityKind.PHONE)),
        (ShingleType.WALLET, _entity_values(message, EntityKind.WALLET)),
    )
    each_a = [
        bytes((kind,)) + piece
        for kind, pieces in entities
        for piece in _distinct(pieces, MAX_REACHING if kind is ShingleType.LINK_DOMAIN else 1)
    ]
    recipients = _distinct(map(str.lower, envelope.recipients), MAX_REACHED)
    if not (each_a and recipients):
        return ()
    types = ShingleType.ENTITY_RECIPIENT, ShingleType.ENTITY_RECIPIENTS
    pairs = hasher.pairs(*types, each_a, recipients)
    if identity.account and len(envelope.recipients) > MAX_REACHED:
        pairs += account_pairs(identity.account, envelope, hasher)[MAX_REACHED:]
    return tuple(pairs)


def account_pairs(account: str, envelope: Envelope, hasher: Hasher) -> list[UniquePair]:
    """Return the pairs of an account with each recipient of a message.

    Args:
        account: login, in lower case.
        envelope: of the message.
        hasher: holds the site's secret.
    """
    who = bytes((ShingleType.ACCOUNT,)) + _octets(account)
    recipients = _distinct(map(str.lower, envelope.recipients), MAX_ACCOUNT_REACHED)
    types = ShingleType.ENTITY_RECIPIENT, ShingleType.ENTITY_RECIPIENTS
    return hasher.pairs(*types, [who], recipients)


def contacts(pairs: Sequence[UniquePair], *, author: bool) -> tuple[Shingle, ...]:
    """Return the first P's that tell whether recipients have had mail from the sender: the proved
    author's, or else those of MAIL FROM.

    Args:
        pairs: those of `recipient_pairs` where there is an author, else those of `pairs`.
        author: there is a proved one, whose pairs come first.
    """
    if author:
        return tuple(
            pair.both for pair in pairs[:MAX_CONTACTS] if pair.distinct == pairs[0].distinct
        )
    own = (pair.both for pair in pairs if pair.both.type == ShingleType.SENDER_RECIPIENT)
    return tuple(islice(own, MAX_CONTACTS))


def entity_recipients(hasher: Hasher, kind: int, piece: str) -> Shingle:
    """Return what counts the recipients that an entity reaches.

    Args:
        hasher: holds the site's secret.
        kind: type of the entity.
        piece: the entity, normalised.
    """
    return hasher.octets(
        ShingleType.ENTITY_RECIPIENTS,
        bytes((kind,)) + _octets(client_home(piece) if kind == ShingleType.CLIENT_IP else piece),
    )


def _entity_values(message: Message, kind: EntityKind) -> Iterable[str]:
    return (entity.value for entity in message.entities if entity.kind is kind)


def _distinct(texts: Iterable[str], most: int) -> list[bytes]:
    return [_octets(text) for text in islice(dict.fromkeys(text for text in texts if text), most)]


def _octets(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _given(octets: bytes) -> list[bytes]:
    return [octets] if octets else []
