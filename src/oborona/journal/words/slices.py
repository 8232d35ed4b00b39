"""What search files know of single messages: bits for the runs of three letters of its texts; pure.

A word that stands anywhere in a text of a message has all its runs there.  Each run of a field sets
some of a thousand bits of its message: two where it is common in the mail of a day, six where it is
rare, so that a short word of rare runs is told apart, too.  They lie in slices: the first bit of
all messages, then the second one.  So the slices of the runs that are asked for, ANDed, tell which
messages may have them; these are read, and compared as if there were no search files: they never
decide.

Texts are folded here, more than SQLite's LIKE folds.  All that is neither letter nor digit is one
mark, which also stands before and behind each text: so that a word begins so is a run, too.  Names,
of rules, lists and networks, have some bits each.

Source: Faloutsos, Signature files (Frakes, Baeza-Yates, Information retrieval, 1992, chapter 4);
Goodwin et al., BitFunnel (SIGIR 2017).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import IntEnum
from ipaddress import ip_address
from socket import AF_INET, AF_INET6, inet_pton
from typing import Final, NamedTuple
from zlib import crc32

from oborona.journal.words.bits import any_bits, common_bits

SLICES: Final = 1080  # more make the files larger, fewer make who searches read more messages
MARK: Final = "\0"  # for what is neither letter nor digit
FACTORS: Final = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F)  # of xxHash32
MIX: Final = 0x2C1B3C6D
SHIFT: Final = 15
_WIDE: Final = (1 << 32) - 1
_OTHER: Final = re.compile(r"[\W_]")
_MOST_RUNS: Final = 16  # of a word: more tell no more
_MOST_SLICES: Final = 16  # the same, of those that fewest messages have
_OCTETS: Final = {0: (), 4: (2, 3, 4), 16: (4, 6, 8, 16)}
"""Octets of an address → of the networks that it is known by."""

COMMON: Final = 1 << 16  # places of runs among those that are common
RARE: Final = (0x85EBCA77, 0xC2B2AE3D)  # what mixes the hash of a rare run for two slices more each

AskedSlices = tuple[tuple[tuple[int, ...], ...], ...]
"""Of each condition: in which slices a message must be for any of what may meet it."""


class AskedWay(NamedTuple):
    """What a message must have to meet a condition in one way."""

    hashes: tuple[int, ...] = ()  # of runs
    slices: tuple[int, ...] = ()  # of names


AskedWays = tuple[tuple[AskedWay, ...], ...]
"""Of each condition: all ways to meet it."""


class SlicedField(IntEnum):
    """Texts of a message that are told apart."""

    FROM = 1  # envelope sender and From
    TO = 2
    SUBJECT = 3
    CLIENT = 4  # names of networks
    RULE = 5  # names
    DECIDED = 6  # a name
    DOOR = 7  # a name
    VERDICT = 8  # a name
    REST = 9  # client, HELO, login, queue id and Message-ID


_OF_NAME: Final = {
    SlicedField.CLIENT: 4,  # an address has three names
    SlicedField.RULE: 6,
    SlicedField.DECIDED: 10,  # any word may be meant for one
    SlicedField.DOOR: 4,
    SlicedField.VERDICT: 4,
}
"""Slices of a name."""


def hash_of_run(run: str, field: SlicedField) -> int:
    """Return the hash of three letters and marks of a field, of 32 bits."""
    mixed = field * FACTORS[3]
    for letter, factor in zip(run, FACTORS, strict=False):
        mixed ^= ord(letter) * factor
    mixed &= _WIDE
    mixed = (mixed ^ mixed >> SHIFT) * MIX & _WIDE
    return mixed ^ mixed >> SHIFT


def slices_of_run(mixed: int, common: bytes) -> list[int]:
    """Return the slices of a run of letters.

    Args:
        mixed: its hash.
        common: a bit for each place of runs that are common; octets.
    """
    place = mixed >> 16
    hashes = [mixed]
    if not common[place >> 3] >> (place & 7) & 1:
        hashes += [(mixed * factor & _WIDE) ^ mixed >> SHIFT for factor in RARE]
    return [half * SLICES >> 16 for one in hashes for half in (one >> 16, one & 0xFFFF)]


def way_of_name(name: str, field: SlicedField) -> AskedWay:
    """Return what is asked for a name as a whole."""
    return AskedWay(slices=slices_of_name(name, field))


def slices_of_name(name: str, field: SlicedField) -> tuple[int, ...]:
    """Return the slices of a name.

    Args:
        name: folded.
        field: of names.
    """
    octets = name.encode("utf-8", "surrogatepass")
    mixed = (crc32(octets, 256 * field + place) for place in range(_OF_NAME[field] // 2))
    return tuple(half * SLICES >> 16 for one in mixed for half in (one >> 16, one & 0xFFFF))


def way_of_text(text: str, field: SlicedField, *, begins: bool = False) -> AskedWay:
    """Return what is asked for a text in a field; nothing of a text that is short.

    Args:
        text: folded.
        field: of texts.
        begins: no letter nor digit stands before it.
    """
    marked = begins * MARK + _OTHER.sub(MARK, text)
    number = len(marked) - 2
    places = range(0, number, max(1, -(-number // _MOST_RUNS)))
    return AskedWay(tuple(hash_of_run(marked[place : place + 3], field) for place in places))


def asked_of_day(asked: AskedWays, common: bytes) -> AskedSlices:
    """Return the slices that a question asks for in a day.

    Args:
        asked: ways.
        common: a bit for each place of runs that are common that day; octets.
    """
    return tuple(
        tuple(
            (*way.slices, *(one for mixed in way.hashes for one in slices_of_run(mixed, common)))
            for way in ways
        )
        for ways in asked
    )


def common_messages(asked: AskedSlices, read: Callable[[int], bytes]) -> bytes:
    """Return the messages that may meet all conditions, as bits; empty where none may.

    Args:
        asked: of at least one condition.
        read: returns the messages of a slice, as bits.
    """
    found: bytes | None = None
    for ways in asked:
        met = b""
        for places in ways:
            left = found
            for place in places:
                left = read(place) if left is None else common_bits(left, read(place))
                if not left:
                    break
            met = any_bits(met, left or b"")
        found = met
        if not found:
            break
    return found or b""


def in_order(asked: AskedSlices, counts: Sequence[int]) -> AskedSlices:
    """Return what is asked for with what fewest messages have first, and no more of it than tells
    something.

    Args:
        asked: slices.
        counts: how many messages each slice has.
    """
    alone = tuple(place for ways in asked if len(ways) == 1 for place in ways[0])
    by_ways = [ways for ways in asked if len(ways) > 1]
    return tuple(
        tuple(tuple(sorted(set(way), key=counts.__getitem__)[:_MOST_SLICES]) for way in ways)
        for ways in ([(alone,)] if alone else []) + by_ways
    )


def network_names(octets: bytes) -> list[str]:
    """Return the names of the networks that an address is known by.

    Args:
        octets: of the address, or with zeros behind those that are known; empty = it has none.
    """
    return [octets[:number].hex() for number in _OCTETS[len(octets)]]


def octets_of(address: str) -> bytes:
    """Return the octets of an address as a mail server told it; nothing of what is none."""
    with suppress(OSError):  # ten times as fast, and knows no zones
        return inet_pton(AF_INET6 if ":" in address else AF_INET, address)
    with suppress(ValueError):
        return ip_address(address).packed
    return b""


def stored_text(stored: object) -> str:
    """Return a stored text, as near to it as Unicode goes."""
    if isinstance(stored, str):
        return stored
    return stored.decode("utf-8", "replace") if isinstance(stored, bytes) else ""
