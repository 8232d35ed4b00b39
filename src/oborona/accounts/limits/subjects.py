"""Whose mail limits add up, as shingles of the counters.

    account    the login
    domain     all logins of its domain together
    customer   all accounts that he answers for, by login or, for mail without one, by address
    address    the client; of IPv6 its /64, of which whoever has one address has all
    network    the narrowest network of an account around the client
    all        everybody of ours

Only a login that the mail server let in makes an account: a forged sender uses up nobody's limit.
Domains, customers, networks, and all together, are pieces of the account's type that no login can
be.
"""

from __future__ import annotations

from typing import Final

from oborona.accounts.sending_account import KnownAccounts
from oborona.client_network import client_network
from oborona.message.hashing import Hasher, ShingleType
from oborona.policy.limit_table import LimitSubject
from oborona.policy.limits import LimitFacts
from oborona.types import Envelope, Shingle

_NO_LOGIN: Final = "\0"  # begins what no login does: SASL's PLAIN ends one there (RFC 4616)
# and no domain of a login has an @
_CUSTOMER: Final = f"{_NO_LOGIN}customer@"
_NETWORK: Final = f"{_NO_LOGIN}network@"


def domain_of(login: str) -> str:
    """Return the domain of a login in lower case; empty for one without."""
    return login.lower().rpartition("@")[2].rstrip(".") if "@" in login else ""


def facts_of(envelope: Envelope, accounts: KnownAccounts, now: float) -> LimitFacts:
    """Return what formulas may name of a message, without a past.

    Args:
        envelope: of the message.
        accounts: of the site.
        now: Unix seconds.
    """
    facts = LimitFacts(
        login=envelope.login.lower(),
        domain=domain_of(envelope.login),
        client_ip=envelope.client.ip,
        sender=envelope.sender,
        recipients=len(envelope.recipients),
    )
    account = accounts.sender(envelope.login, envelope.client.ip)
    if account is not None:
        account.tell(facts, now)
    return facts


def subject_shingle(
    subject: LimitSubject, envelope: Envelope, hasher: Hasher, accounts: KnownAccounts
) -> Shingle | None:
    """Return under what the mail of a subject is counted; None for a message that has none.

    Args:
        subject: that is asked for.
        envelope: of the message.
        hasher: holds the site's secret.
        accounts: of the site.
    """
    match subject:
        case LimitSubject.ACCOUNT:
            login = envelope.login.lower()
            return hasher.shingle(ShingleType.ACCOUNT, login) if login else None
        case LimitSubject.DOMAIN:
            domain = domain_of(envelope.login)
            return hasher.shingle(ShingleType.ACCOUNT, _NO_LOGIN + domain) if domain else None
        case LimitSubject.CUSTOMER:
            account = accounts.sender(envelope.login, envelope.client.ip)
            if account is None or not account.customer:
                return None
            return hasher.shingle(ShingleType.ACCOUNT, _CUSTOMER + account.customer)
        case LimitSubject.NETWORK:
            network = accounts.network(envelope.client.ip)
            return hasher.shingle(ShingleType.ACCOUNT, _NETWORK + network) if network else None
        case LimitSubject.ADDRESS:
            ip = envelope.client.ip
            if ":" in ip:
                return hasher.shingle(ShingleType.CLIENT_NETWORK, client_network(ip))
            return hasher.shingle(ShingleType.CLIENT_IP, ip) if ip else None
        case LimitSubject.ALL:
            return hasher.shingle(ShingleType.ACCOUNT, _NO_LOGIN)
