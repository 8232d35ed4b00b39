"""Questions and answers of the DNS as they travel (RFC 1035 section 4), for the kinds of records
that we ask for.

A question says that answers of `PAYLOAD` octets may come in one datagram (EDNS, RFC 6891). Of an
answer everything is bounded: names by their length and pointers backwards, records by their number
and by the message. Records of other kinds are passed over unread.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from ipaddress import IPv6Address
from types import MappingProxyType
from typing import Final

import msgspec

from oborona.dns import DnsRecord, DnsType
from oborona.resolver import names
from oborona.resolver.names import MalformedDnsMessage

PAYLOAD: Final = 1232  # octets that pass every network unfragmented: DNS flag day 2020
# looked at in one answer: more than any honest one has, and a bound on memory
MAX_RECORDS: Final = 512
NOERROR: Final = 0
NXDOMAIN: Final = 3
_IN: Final = 1
_OPT: Final = 41
_HEADER: Final = 12  # octets
_ASK: Final = b"\x01\x00\0\1\0\0\0\0\0\1"  # recursion desired; one question, one additional record
_EDNS: Final = b"\0" + struct.pack("!HHIH", _OPT, PAYLOAD, 0, 0)
_RECORD: Final = struct.Struct("!HHIH")  # kind, class, TTL, length
_COUNTS: Final = struct.Struct("!HHH")  # answer, authority, additional
SERVFAIL: Final = "servfail"
_RCODES: Final = MappingProxyType({1: "formerr", 2: SERVFAIL, 4: "notimp", 5: "refused"})


class DnsResponse(msgspec.Struct, frozen=True):
    """What an answer to a question says."""

    exists: bool  # False: NXDOMAIN, for the end of the chain of CNAMEs (RFC 6604)
    aliases: dict[bytes, tuple[bytes, int]]  # owner -> target, TTL
    # owner -> distinct records of the kind, least TTL
    records: dict[bytes, tuple[tuple[DnsRecord, ...], int]]
    denied: int | None  # how long a denial may be kept; None: nothing was said (no SOA)


def question(name: bytes, kind: DnsType) -> bytes:
    """Return the question section for a name as it travels.

    It is also what the question is known by.
    """
    return name + struct.pack("!HH", kind, _IN)


def message(section: bytes) -> bytes:
    """Return the message that asks a question section, without the id of two octets at its head."""
    return _ASK + section + _EDNS


def matches(data: bytes, section: bytes) -> bool:
    """Return whether a message, whose id is right, answers a question section.

    An error without a question section counts too: some servers cut it off.
    """
    if len(data) < _HEADER or data[2] & 0xF8 != 0x80:  # a response (QR) to a query (opcode 0)
        return False
    if data[4:6] == b"\0\1":
        # its numbers are those of no letters
        return data[_HEADER : _HEADER + len(section)].lower() == section
    return data[4:6] == b"\0\0" and data[3] & 0xF not in (NOERROR, NXDOMAIN)


def truncated(data: bytes) -> bool:
    """Return whether an answer is only the beginning of one."""
    return bool(data[2] & 0x02)


def refusal(data: bytes) -> str:
    """Return in one word why a server did not answer, empty when it did."""
    rcode = data[3] & 0xF
    return "" if rcode in (NOERROR, NXDOMAIN) else _RCODES.get(rcode, f"rcode-{rcode}")


def read(data: bytes, section: bytes, kind: DnsType) -> DnsResponse:
    """Return what a message says that `matches`, is not `truncated` and no `refusal`.

    Raises:
        Malformed: it breaks off, holds a broken record, too many of them, or refers to other
            servers.
    """
    try:
        return _read(data, section, kind)
    except (IndexError, struct.error) as broken:
        raise MalformedDnsMessage("message breaks off") from broken


def _read(data: bytes, section: bytes, kind: DnsType) -> DnsResponse:
    answers, authorities, additionals = _COUNTS.unpack_from(data, 6)
    if answers + authorities + additionals > MAX_RECORDS:
        raise MalformedDnsMessage("too many records")
    exists = data[3] & 0xF == NOERROR
    name = section[:-4]
    aliases: dict[bytes, tuple[bytes, int]] = {}
    by_owner: dict[bytes, tuple[list[DnsRecord], int]] = {}
    at = _HEADER + len(section)
    for _ in range(answers):
        if data[at : at + 2] == b"\xc0\x0c":  # the name asked for: nearly always
            owner, at = name, at + 2
        else:
            owner, at = names.read(data, at)
        its_kind, its_class, ttl, at, end = _record(data, at)
        if its_class == _IN and its_kind == kind:
            records, least = by_owner.get(owner) or ([], ttl)
            records.append(_READ[kind](data, at, end))
            by_owner[owner] = records, min(least, _seconds(ttl))
        elif its_class == _IN and its_kind == DnsType.CNAME:
            aliases.setdefault(owner, (_name(data, at, end), _seconds(ttl)))
        at = end
    records_of = {
        owner: (tuple(dict.fromkeys(records)), ttl) for owner, (records, ttl) in by_owner.items()
    }
    denied = None if records_of else _denial(data, at, authorities, additionals)
    return DnsResponse(exists, aliases, records_of, denied)


def _record(data: bytes, at: int) -> tuple[int, int, int, int, int]:
    """Return kind, class and TTL of the record whose name ends at a place, and where its data begin
    and end.
    """
    kind, its_class, ttl, length = _RECORD.unpack_from(data, at)
    begin = at + _RECORD.size
    if begin + length > len(data):
        raise MalformedDnsMessage("record breaks off")
    return kind, its_class, ttl, begin, begin + length


def _denial(data: bytes, at: int, authorities: int, additionals: int) -> int | None:
    """Return how long a denial may be kept: RFC 2308 section 5."""
    kept_s: int | None = None
    referred = False
    for number in range(authorities + additionals):
        _owner, at = names.read(data, at)
        its_kind, its_class, ttl, at, end = _record(data, at)
        if number < authorities and its_class == _IN:
            if its_kind == DnsType.SOA:
                *_, minimum = _soa_fields(data, at, end)
                kept_s = min(_seconds(ttl), _seconds(minimum))
            referred = referred or its_kind == DnsType.NS
        elif its_kind == _OPT and ttl >> 24:  # RFC 6891 section 6.1.3: the upper bits of the RCODE
            raise MalformedDnsMessage("extended error")
        at = end
    if referred and kept_s is None:
        raise MalformedDnsMessage(
            "refers to other servers"
        )  # RFC 2308 section 2.2: no denial; this server does not recurse
    return kept_s


def _seconds(ttl: int) -> int:
    """Return a TTL; with the highest bit set it is 0 (RFC 2181 section 8)."""
    return ttl if ttl < 1 << 31 else 0


def _a(data: bytes, at: int, end: int) -> str:
    if end - at != 4:
        raise MalformedDnsMessage("A record of another length")
    return f"{data[at]}.{data[at + 1]}.{data[at + 2]}.{data[at + 3]}"


def _aaaa(data: bytes, at: int, end: int) -> str:
    if end - at != 16:
        raise MalformedDnsMessage("AAAA record of another length")
    return str(IPv6Address(data[at:end]))


def _name(data: bytes, at: int, end: int) -> bytes:
    name, behind = names.read(data, at)
    if behind != end:
        raise MalformedDnsMessage("name of another length than its record")
    return name


def _host(data: bytes, at: int, end: int) -> str:
    return names.decode(_name(data, at, end))


def _mx(data: bytes, at: int, end: int) -> tuple[int, str]:
    if end - at < 3:
        raise MalformedDnsMessage("MX record of another length")
    return int.from_bytes(data[at : at + 2]), _host(data, at + 2, end)


def _txt(data: bytes, at: int, end: int) -> bytes:
    if at == end:
        raise MalformedDnsMessage("TXT record without strings")
    strings = []
    while at < end:
        behind = at + 1 + data[at]
        strings.append(data[at + 1 : behind])
        at = behind
    if at != end:
        raise MalformedDnsMessage("string longer than its record")
    return b"".join(strings)


def _soa_fields(data: bytes, at: int, end: int) -> tuple[bytes, bytes, int, int, int, int, int]:
    primary, at = names.read(data, at)
    contact, at = names.read(data, at)
    if end - at != 20:
        raise MalformedDnsMessage("SOA record of another length")
    serial, refresh, retry, expire, minimum = struct.unpack_from("!5I", data, at)
    return primary, contact, serial, refresh, retry, expire, minimum


def _soa(data: bytes, at: int, end: int) -> str:
    primary, contact, *numbers = _soa_fields(data, at, end)
    return " ".join((names.decode(primary), names.decode(contact), *map(str, numbers)))


_READ: Final[MappingProxyType[DnsType, Callable[[bytes, int, int], DnsRecord]]] = MappingProxyType(
    {
        DnsType.A: _a,
        DnsType.NS: _host,
        DnsType.CNAME: _host,
        DnsType.SOA: _soa,
        DnsType.PTR: _host,
        DnsType.MX: _mx,
        DnsType.TXT: _txt,
        DnsType.AAAA: _aaaa,
    }
)
