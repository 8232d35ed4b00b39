"""From addresses, names and mail addresses to the names that DNS lists are asked for.

Sources: RFC 5782 section 2.1 (IPv4), 2.4 (IPv6), 2.2 (names); https://msbl.org/ebl-design.html
(mail addresses).
"""

from __future__ import annotations

import hashlib
from typing import Final

from oborona.domains import MAX_HOST, normal_host, registrable
from oborona.reputation.dnsbl.model import EmailHash
from oborona.reputation.networks import Address, plain

# two names of one service, which takes no notice of dots
_GOOGLE: Final = ("gmail.com", "googlemail.com")
_MAX_LABEL: Final = 63  # octets, RFC 1035 section 2.3.4
_MAX_MAILBOX: Final = 320  # characters


def of_address(address: Address) -> str:
    """Return an address as lists have it: octets or nibbles in reverse."""
    return address.reverse_pointer.rsplit(".", 2)[0]


def of_host(host: str, *, whole: bool) -> Address | str:
    """Return the address or the name that a host is for lists.

    Empty where it is none that a list could have.

    Args:
        host: as a URL, HELO or mail address had it; anything at all.
        whole: as it is, not the domain that was registered for it.
    """
    name = normal_host(host[1:-1] if host.startswith("[") and ":" not in host else host)
    if address := plain(name):
        return address
    if "." not in name or max(map(len, name.split("."))) > _MAX_LABEL:
        return ""
    return name if whole else registrable(name)


def of_mailbox(mailbox: str) -> str:
    """Return a mail address as lists of them have it: lower case, without tag.

    Dots of Google's addresses left out; empty for none.
    """
    if len(mailbox) > _MAX_MAILBOX:
        return ""
    local, at, domain = mailbox.strip().lower().rpartition("@")
    host = normal_host(domain)
    local = local.partition("+")[0]
    if host in _GOOGLE:
        host = _GOOGLE[0]
        local = local.replace(".", "")
    return f"{local}@{host}" if at and local and "." in host else ""


def hash_label(mailbox: str, how: EmailHash) -> str:
    """Return the label under which a list has a mail address."""
    raw = mailbox.encode("utf-8", "surrogateescape")
    return hashlib.new(how.value, raw, usedforsecurity=False).hexdigest()


def query_name(label: str, zone: str) -> str:
    """Return the name to ask for; empty where it would be too long for one."""
    name = f"{label}.{zone}"
    return name if len(name) <= MAX_HOST else ""
