"""The pieces of a message that tell who sent it: what the mail server saw of the client and its
envelope, what the message says of itself, and what of that was proved.

Limits: `MAX_*` of each kind per message.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from ipaddress import ip_address
from typing import Final

from oborona import domains
from oborona.message import header_order, mailer
from oborona.message.hashing import ShingleType
from oborona.message.model import Message
from oborona.message.normalise import normalise
from oborona.types import Envelope, Location, ProvedIdentity

MIN_NAME: Final = 3  # characters of a display name

MAX_REPLY_TO: Final = 5


def of_envelope(envelope: Envelope, location: Location) -> Iterator[tuple[ShingleType, str]]:
    """Yield the pieces that are known before the message comes; some may be empty."""
    client = envelope.client
    yield ShingleType.CLIENT_IP, client.ip
    yield ShingleType.CLIENT_NETWORK, client_network(client.ip)
    name = client.name.lower().rstrip(".")
    if name:
        yield ShingleType.RDNS, name
        yield ShingleType.RDNS_DOMAIN, domains.registrable(name) if "." in name else ""
    yield ShingleType.HELO, envelope.helo.lower().rstrip(".")
    sender = envelope.sender.lower()
    yield ShingleType.MAIL_FROM, sender
    yield ShingleType.MAIL_FROM_DOMAIN, sender.rpartition("@")[2] if "@" in sender else ""
    yield ShingleType.COUNTRY, location.country
    yield ShingleType.AS_NUMBER, str(location.as_number) if location.as_number else ""


def of_proved(identity: ProvedIdentity) -> Iterator[tuple[ShingleType, str]]:
    """Yield what was proved of the sender; some may be empty."""
    yield ShingleType.AUTHOR, identity.author
    yield ShingleType.AUTHOR_DOMAIN, identity.author_domain
    yield ShingleType.PROVED_SENDER, identity.sender
    yield ShingleType.ACCOUNT, identity.account


def of_message(message: Message) -> Iterator[tuple[ShingleType, str]]:
    """Yield the pieces of the header; some may be empty."""
    if message.from_ is not None:
        box = message.from_
        yield ShingleType.FROM, box.address.lower()
        yield ShingleType.FROM_DOMAIN, domains.registrable(box.domain) if box.domain else ""
        name = normalise(box.name)
        yield ShingleType.FROM_NAME, name if len(name) >= MIN_NAME else ""
    for box in message.reply_to[:MAX_REPLY_TO]:
        yield ShingleType.REPLY_TO, box.address.lower()
    ident = message.message_id
    yield ShingleType.MESSAGE_ID_DOMAIN, ident.rpartition("@")[2].lower() if "@" in ident else ""
    yield ShingleType.MAILER, mailer.program(message)
    yield ShingleType.HEADER_ORDER, header_order.order(message.headers)


@lru_cache(maxsize=4096)
def client_network(ip: str) -> str:
    """Return the /24 or /64 network of a client address in canonical text, empty when there is
    none.
    """
    try:
        address = ip_address(ip)
    except ValueError:
        return ""
    if address.version == 4:
        return ip.rpartition(".")[0] + ".0/24"
    if address.ipv4_mapped is not None:
        return client_network(str(address.ipv4_mapped))
    return str(type(address)(int(address) >> 64 << 64)) + "/64"


def client_home(ip: str) -> str:
    """Return an address as one that counts: of IPv6 the network, of which whoever has one address
    has all.
    """
    return client_network(ip) if ":" in ip and "." not in ip else ip
