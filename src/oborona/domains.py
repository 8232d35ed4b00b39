"""Host names and addresses as people write them, and the domain somebody registered for them.

A host is normal in lower case, without a final dot, in A-labels (RFC 5891) if it has other letters,
and as a dotted address if it is one in any of the ways that a browser reads (0x7f.1, 2130706433:
WHATWG URL s3.5). The registrable domain is one label more than the public suffix
(publicsuffix.org), private suffixes included: a.blogspot.com is its owner's, not Google's.

Limits: the list is as old as the installed publicsuffixlist.
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final
from urllib.parse import unquote

from dns.exception import DNSException
from dns.name import IDNA_2003_Practical, IDNA_2008_Practical
from publicsuffixlist import PublicSuffixList

_HOST: Final = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_-])?")
_NUMBER: Final = re.compile(r"0x[0-9a-f]*|[0-9]+")
_DOTS: Final = re.compile("[.\u3002\uff0e\uff61]")  # all of these end a label, RFC 3490 section 3.1
MAX_HOST: Final = 253  # octets of a name in text form, RFC 1035 s2.3.4
# characters as written: each may be "%41", and there may be white space
MAX_WRITTEN: Final = 4 * MAX_HOST
_SUFFIXES: Final = PublicSuffixList()


def a_labels(name: str) -> str:
    """Return a name in the letters that the DNS has.

    What RFC 5891 knows is encoded by it, and mapped as UTS 46 says; what it forbids and browsers
    open all the same (little pictures) by RFC 3490.

    Raises:
        ValueError: it can be no name.
    """
    labels = _DOTS.split(name)
    for codec in (IDNA_2008_Practical, IDNA_2003_Practical):
        try:
            encoded = [codec.encode(label).lower() for label in labels]
        except (DNSException, UnicodeError):
            continue
        # Compatibility forms such as U+2488 ("1.") or U+FF3C ("\\") would make other labels than
        # those that people see.
        if not any(sign in label for label in encoded for sign in (b".", b"\\")):
            return b".".join(encoded).decode("ascii")
    raise ValueError("no name of the DNS")


def normal_host(host: str) -> str:
    """Return the normal form of a URL's host, empty when it can be none."""
    return _normal(host) if len(host) <= MAX_WRITTEN else ""


@lru_cache(maxsize=8192)
def _normal(host: str) -> str:
    if "%" in host:
        host = unquote(host, errors="replace")
    host = host.strip().lower()
    if host.startswith("["):
        try:
            six = IPv6Address(host.strip("[]"))
        except (AddressValueError, ValueError):
            return ""
        # No browser opens one with a zone (WHATWG URL s3.5), which may hold any letters, line ends
        # among them.
        return "" if six.scope_id else str(six)
    host = _DOTS.sub(".", host).strip(".")
    if not host or len(host) > MAX_HOST:
        return ""
    if not host.isascii():
        try:
            host = a_labels(host)
        except ValueError:
            return ""
    if host[-1].isdigit() or host.startswith("0x"):
        address = _ipv4(host)
        if address:
            return address
    return host if _HOST.fullmatch(host) and ".." not in host else ""


def _ipv4(host: str) -> str:
    """Return the dotted form of an address in any base and number of fields, empty when it is
    none.
    """
    fields = host.split(".")
    if len(fields) > 4 or not all(_NUMBER.fullmatch(field) for field in fields):
        return ""
    try:
        numbers = [_number(field) for field in fields]
    except ValueError:
        return ""
    last = numbers.pop()
    if any(number > 255 for number in numbers) or last >= 256 ** (4 - len(numbers)):
        return ""
    return str(
        IPv4Address(sum(number << 8 * (3 - place) for place, number in enumerate(numbers)) + last)
    )


def _number(field: str) -> int:
    if field.startswith("0x"):
        return int(field[2:] or "0", 16)
    return int(field, 8) if len(field) > 1 and field[0] == "0" else int(field)


def registrable(host: str) -> str:
    """Return the domain that was registered for a normal host: the host itself for an address, a
    bare suffix, or what is too long for the DNS.
    """
    return _registrable(host) if len(host) <= MAX_HOST else host


@lru_cache(maxsize=8192)
def _registrable(host: str) -> str:
    if ":" in host or host.replace(".", "").isdigit():
        return host
    return _SUFFIXES.privatesuffix(host) or host


@lru_cache(maxsize=8192)
def under_known_suffix(host: str) -> bool:
    """Return whether a normal host lies under a suffix that exists, as a name written in a text
    must to be a link.
    """
    return _SUFFIXES.privatesuffix(host, accept_unknown=False) is not None
