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
from oborona.message.hashing import Type
from oborona.message.model import Message
from oborona.message.normalise import normalise
from oborona.types import Envelope, Location, Proved

MIN_NAME: Final = 3  # characters of a display name

MAX_REPLY_TO: Final = 5


def of_envelope(envelope: Envelope, location: Location) -> Iterator[tuple[Type, str]]:
    """Yield the pieces that are known before the message comes; some may be empty."""
    client = envelope.client
    yield Type.CLIENT_IP, client.ip
    yield Type.CLIENT_NETWORK, client_network(client.ip)
    name = client.name.lower().rstrip(".")
    if name:
        yield Type.RDNS, name
        yield Type.RDNS_DOMAIN, domains.registrable(name) if "." in name else ""
    yield Type.HELO, envelope.helo.lower().rstrip(".")
    sender = envelope.sender.lower()
    yield Type.MAIL_FROM, sender
    yield Type.MAIL_FROM_DOMAIN, sender.rpartition("@")[2] if "@" in sender else ""
    yield Type.COUNTRY, location.country
    yield Type.AS_NUMBER, str(location.as_number) if location.as_number else ""


def of_proved(who: Proved) -> Iterator[tuple[Type, str]]:
    """Yield what was proved of the sender; some may be empty."""
    yield Type.AUTHOR, who.author
    yield Type.AUTHOR_DOMAIN, who.author_domain
    yield Type.PROVED_SENDER, who.sender
    yield Type.ACCOUNT, who.account


def of_message(message: Message) -> Iterator[tuple[Type, str]]:
    """Yield the pieces of the header; some may be empty."""
    if message.from_ is not None:
        box = message.from_
        yield Type.FROM, box.address.lower()
        yield Type.FROM_DOMAIN, domains.registrable(box.domain) if box.domain else ""
        name = normalise(box.name)
        yield Type.FROM_NAME, name if len(name) >= MIN_NAME else ""
    for box in message.reply_to[:MAX_REPLY_TO]:
        yield Type.REPLY_TO, box.address.lower()
    ident = message.message_id
    yield Type.MESSAGE_ID_DOMAIN, ident.rpartition("@")[2].lower() if "@" in ident else ""
    yield Type.MAILER, mailer.program(message)
    yield Type.HEADER_ORDER, header_order.order(message.headers)


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
