"""Whose mail limits add up, as shingles of the counters.

    account    the login
    domain     all logins of its domain together
    address    the client; of IPv6 its /64, of which whoever has one address has all
    all        everybody of ours

Only a login that the mail server let in makes an account: a forged sender uses up nobody's limit.
Domains, and all together, are pieces of the account's type that no login can be.
"""

from __future__ import annotations

from typing import Final

from oborona.message.hashing import Hasher, ShingleType
from oborona.message.sender_pieces import client_network
from oborona.policy.limit_table import LimitSubject
from oborona.policy.limits import LimitFacts
from oborona.types import Envelope, Shingle

_NO_LOGIN: Final = "\0"  # begins what no login does: SASL's PLAIN ends one there (RFC 4616)


def domain_of(login: str) -> str:
    """Return the domain of a login in lower case; empty for one without."""
    return login.lower().rpartition("@")[2].rstrip(".") if "@" in login else ""


def facts_of(envelope: Envelope) -> LimitFacts:
    """Return what formulas may name of a message, without a past."""
    return LimitFacts(
        login=envelope.login.lower(),
        domain=domain_of(envelope.login),
        client_ip=envelope.client.ip,
        sender=envelope.sender,
        recipients=len(envelope.recipients),
    )


def subject_shingle(subject: LimitSubject, envelope: Envelope, hasher: Hasher) -> Shingle | None:
    """Return under what the mail of a subject is counted; None for a message that has none.

    Args:
        subject: that is asked for.
        envelope: of the message.
        hasher: holds the site's secret.
    """
    match subject:
        case LimitSubject.ACCOUNT:
            login = envelope.login.lower()
            return hasher.shingle(ShingleType.ACCOUNT, login) if login else None
        case LimitSubject.DOMAIN:
            domain = domain_of(envelope.login)
            return hasher.shingle(ShingleType.ACCOUNT, _NO_LOGIN + domain) if domain else None
        case LimitSubject.ADDRESS:
            ip = envelope.client.ip
            if ":" in ip:
                return hasher.shingle(ShingleType.CLIENT_NETWORK, client_network(ip))
            return hasher.shingle(ShingleType.CLIENT_IP, ip) if ip else None
        case LimitSubject.ALL:
            return hasher.shingle(ShingleType.ACCOUNT, _NO_LOGIN)
