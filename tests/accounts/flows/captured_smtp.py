"""Captures of SMTP sessions as a router would see them, written packet by packet: whose sums are
known, and which exporters that nobody here wrote turn into flows.

    sessions → frames in order of time → a pcap file

Source: the pcap format (https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-04.html section 4),
RFC 791, RFC 9293.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Sequence
from ipaddress import IPv4Address
from pathlib import Path
from typing import NamedTuple

SYN, FIN, RST, PSH, ACK = 0x02, 0x01, 0x04, 0x08, 0x10
_ETHERNET = b"\2\0\0\0\0\1\2\0\0\0\0\2\x08\0"


class SmtpSession(NamedTuple):
    """A session of one client; times in Unix seconds."""

    source: str
    destination: str
    source_port: int
    begin: float
    lasts: float
    letters: Sequence[int]  # octets of each segment that the client sends
    reset: bool = False  # the client ends it by RST
    port: int = 25


class SourceSums(NamedTuple):
    """What a source sent, client to server."""

    packets: int
    octets: int
    streams: int
    at_once: int
    destinations: int
    refused: int


def write_pcap(path: Path, sessions: Sequence[SmtpSession]) -> None:
    """Write a capture of the sessions."""
    frames = sorted(
        (frame for session in sessions for frame in _frames(session)), key=lambda frame: frame[0]
    )
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 1))
        for at, octets in frames:
            micro = round(at * 1_000_000)
            head = (micro // 1_000_000, micro % 1_000_000, len(octets), len(octets))
            file.write(struct.pack("<IIII", *head) + octets)


def sums_of(sessions: Sequence[SmtpSession]) -> dict[str, SourceSums]:
    """Return what each source sent, counted from the sessions themselves."""
    by_source = defaultdict[str, list[SmtpSession]](list)
    for session in sessions:
        by_source[session.source].append(session)
    return {source: _sums(theirs) for source, theirs in by_source.items()}


def _sums(sessions: Sequence[SmtpSession]) -> SourceSums:
    packets = octets = refused = 0
    events = list[tuple[int, int]]()
    for session in sessions:
        sent = [len(octets) - 14 for _, octets in _frames(session) if _is_clients(octets, session)]
        packets += len(sent)
        octets += sum(sent)
        refused += sum(sent) < 600 or session.reset
        times = [at for at, octets in _frames(session) if _is_clients(octets, session)]
        events += [(round(times[0] * 1000), 0), (round(times[-1] * 1000), 1)]
    now = most = 0
    for _, ends in sorted(events):
        now += -1 if ends else 1
        most = max(most, now)
    return SourceSums(
        packets=packets,
        octets=octets,
        streams=len(sessions),
        at_once=most,
        destinations=len({session.destination for session in sessions}),
        refused=refused,
    )


def _frames(session: SmtpSession) -> list[tuple[float, bytes]]:
    """Return the packets of a session, both ways, with their times."""
    flags = [SYN, ACK, *([PSH | ACK] * len(session.letters)), RST if session.reset else FIN | ACK]
    sizes = [0, 0, *session.letters, 0]
    pause = session.lasts / (len(flags) - 1)
    frames = []
    for number, (flag, size) in enumerate(zip(flags, sizes, strict=True)):
        at = round(session.begin + number * pause, 3)
        frames.append((at, _packet(session, flag, size)))
        if not flag & RST:
            answer = SYN | ACK if flag == SYN else (FIN | ACK if flag & FIN else ACK)
            frames.append((at, _packet(session, answer, 0, back=True)))
    return frames


def _packet(session: SmtpSession, flags: int, size: int, *, back: bool = False) -> bytes:
    ends = [
        (IPv4Address(session.source).packed, session.source_port),
        (IPv4Address(session.destination).packed, session.port),
    ]
    (source, sport), (destination, dport) = reversed(ends) if back else ends
    tcp = struct.pack(">HHIIBBHHH", sport, dport, 1, 1, 5 << 4, flags, 65_535, 0, 0)
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40 + size, 0, 0, 64, 6, 0, source, destination)
    return _ETHERNET + head + tcp + b"x" * size


def _is_clients(octets: bytes, session: SmtpSession) -> bool:
    return octets[26:30] == IPv4Address(session.source).packed
