"""Inputs made of others without coverage as a guide: what fuzzing does where atheris is not
installed, and a second way beside it.

Each is an input that is known, changed a few times: octets turned, pieces cut out, said again many
times, put in from another or from the target's words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Final

MOST_CHANGES: Final = 6
REPEATS: Final = (2, 10, 1000)
ODD_OCTETS: Final = b'\0\xff\x7f\x80\n\r "<>;=,(\\'


def mutated(
    inputs: Sequence[bytes], words: Sequence[bytes], longest: int, random: Random
) -> Iterator[bytes]:
    """Yield inputs for ever, none longer than `longest` octets."""
    pieces = (*words, *inputs)
    ways: tuple[Callable[[bytes], bytes], ...] = (
        lambda octets: _turned(octets, random),
        lambda octets: _cut(octets, random),
        lambda octets: _repeated(octets, longest, random),
        lambda octets: _with(octets, random.choice(pieces), random),
        lambda octets: _with(octets, bytes((random.choice(ODD_OCTETS),)), random),
    )
    while True:
        octets = random.choice(inputs)
        for _ in range(random.randint(1, MOST_CHANGES)):
            octets = random.choice(ways)(octets)[:longest]
        yield octets


def _turned(octets: bytes, random: Random) -> bytes:
    if not octets:
        return octets
    place = random.randrange(len(octets))
    return octets[:place] + bytes((octets[place] ^ 1 << random.randrange(8),)) + octets[place + 1 :]


def _cut(octets: bytes, random: Random) -> bytes:
    start, end = sorted((random.randint(0, len(octets)), random.randint(0, len(octets))))
    return octets[:start] + octets[end:]


def _repeated(octets: bytes, longest: int, random: Random) -> bytes:
    start = random.randint(0, len(octets))
    piece = octets[start : start + random.choice((1, 2, 4, 16, 64))]
    times = min(random.choice(REPEATS), longest // max(1, len(piece)))
    return octets[:start] + piece * times + octets[start:]


def _with(octets: bytes, piece: bytes, random: Random) -> bytes:
    start = random.randint(0, len(octets))
    return octets[:start] + piece + octets[start:]
