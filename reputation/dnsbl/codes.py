"""What the addresses mean that a DNS list answers with: the notation of admins, and their weights.

    "127.0.0.2"                  this code
    "127.0.0.4-7"                these, in the last octet; also "127.0.0.4-127.0.0.7"
    "127.0.2.0/24"               these
    "127.0.*.3"                  any third octet, where a list puts a category into it
    "&8"                         a bit of the last octet, for lists that answer with a sum of bits
                                 (RFC 5782 section 2.3)

A code is weighed by the first of these that has it: itself, the narrowest range or network, `*`,
the list's `score`; and by each bit that it has.  What weighs most counts, and nothing is added up:
the codes of one list are one opinion.  These never count, whatever the notation: what is not in
127.0.0.0/8 (a resolver that makes up answers), 127.0.0.1 (RFC 5782 section 5: no list has it), and
127.255.255.0/24, by which lists refuse to answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from ipaddress import AddressValueError, IPv4Address
from typing import Final

import msgspec

MAX_CODES: Final = 100  # notations of one list

_LOOPBACK: Final = 127
_REFUSED: Final = 0x7FFFFF00  # 127.255.255.0/24
_NEVER: Final = 0x7F000001
_STARRED: Final = 0xFFFF00FF
_RANGE: Final = re.compile(r"(\d+\.\d+\.\d+)\.(\d+)-(?:(\d+\.\d+\.\d+)\.)?(\d+)", re.ASCII)
_BIT: Final = re.compile(r"&\s*(0x[0-9a-fA-F]{1,2}|[0-9]{1,3})")
_STAR: Final = re.compile(r"(\d+\.\d+)\.\*\.(\d+)", re.ASCII)


class CodeRange(msgspec.Struct, frozen=True):
    """The codes from `low` to `high`."""

    low: int
    high: int
    score: float = 0.0


class CodeWeights(msgspec.Struct, frozen=True, kw_only=True):
    """The weights of a list's codes."""

    exact: Mapping[int, float] = {}
    spans: tuple[CodeRange, ...] = ()  # narrowest first; each lies inside another, or apart
    stars: Mapping[int, float] = {}  # by the code with a third octet of 0
    bits: tuple[tuple[int, float], ...] = ()  # of the last octet
    other: float | None = None  # of any other code; None: they don't count

    def score(self, code: IPv4Address) -> float | None:
        """Return what a code weighs, None where it means nothing; it may be any address."""
        if not counts(code):
            return None
        number = int(code)
        scores = [score for bit, score in self.bits if number & bit]
        if number in self.exact:
            scores.append(self.exact[number])
        elif span := next((span for span in self.spans if span.low <= number <= span.high), None):
            scores.append(span.score)
        elif number & _STARRED in self.stars:
            scores.append(self.stars[number & _STARRED])
        if not scores:
            return self.other
        return max(scores, key=lambda score: (abs(score), score))

    @property
    def scores(self) -> tuple[float, ...]:
        """All weights that there are."""
        spans = (span.score for span in self.spans)
        others = () if self.other is None else (self.other,)
        return (
            *self.exact.values(),
            *spans,
            *self.stars.values(),
            *(score for _, score in self.bits),
            *others,
        )


def counts(code: IPv4Address) -> bool:
    """Return whether an address can be a code that lists anything."""
    number = int(code)
    return number >> 24 == _LOOPBACK and number & 0xFFFFFF00 != _REFUSED and number != _NEVER


def parse(scores: Mapping[str, float], other: float | None) -> CodeWeights:
    """Return the weights that an admin wrote.

    Args:
        scores: notation -> weight.
        other: weight of the codes that `scores` does not name.

    Raises:
        ValueError: which notation is wrong and why.
    """
    _limit(scores)
    exact: dict[int, float] = {}
    spans: list[CodeRange] = []
    stars: dict[int, float] = {}
    bits: dict[int, float] = {}
    for text, score in scores.items():
        if not math.isfinite(score):
            raise ValueError(f'"{text}": the score must be a number, -1000 to 1000')
        if text.startswith("&"):
            _put_once(bits, _bit(text), score, text)
            continue
        if match := _STAR.fullmatch(text):
            _put_once(stars, _code(f"{match[1]}.0.{match[2]}", text), score, text)
            continue
        low, high = _span(text)
        if low & 0xFFFFFF00 == _REFUSED:
            raise ValueError(
                f'"{text}": 127.255.255.x means that the list refuses to answer, and never counts'
            )
        if low == high:
            if low == _NEVER:
                raise ValueError(f'"{text}": never counts (RFC 5782 section 5)')
            _put_once(exact, low, score, text)
            continue
        if any(_crossed(span, low, high) for span in spans):
            raise ValueError(
                f'"{text}": shares codes with another one, and neither lies inside the other'
            )
        spans.append(CodeRange(low, high, score))
    spans.sort(key=lambda span: span.high - span.low)
    return CodeWeights(
        exact=exact, spans=tuple(spans), stars=stars, bits=tuple(bits.items()), other=other
    )


def refusals(texts: Sequence[str]) -> tuple[CodeRange, ...]:
    """Return the codes by which a list refuses to answer, beside 127.255.255.0/24.

    Args:
        texts: codes, ranges or networks.

    Raises:
        ValueError: which notation is wrong and why.
    """
    _limit(texts)
    return tuple(CodeRange(*_span(text)) for text in texts)


def is_refusal(code: IPv4Address, also: Sequence[CodeRange]) -> bool:
    """Return whether a list refuses to answer by this code.

    Source: 127.255.255.0/24 is Spamhaus' convention (https://www.spamhaus.org/faqs/dnsbl-usage/),
        which others follow.
    """
    number = int(code)
    return number & 0xFFFFFF00 == _REFUSED or any(span.low <= number <= span.high for span in also)


def _limit(texts: Sequence[str] | Mapping[str, float]) -> None:
    if len(texts) > MAX_CODES:
        raise ValueError(f"more than {MAX_CODES} codes")


def _put_once(table: dict[int, float], number: int, score: float, text: str) -> None:
    if number in table:
        raise ValueError(f'"{text}": stands there twice')
    table[number] = score


def _bit(text: str) -> int:
    match = _BIT.fullmatch(text)
    number = int(match[1], 16 if match[1].startswith("0x") else 10) if match else 0
    if not 1 <= number <= 128 or number.bit_count() != 1:
        raise ValueError(f'"{text}": must be one bit of the last octet: &1, &2, &4, ... &128')
    return number


def _span(text: str) -> tuple[int, int]:
    """Return the lowest and the highest code of a notation."""
    if match := _RANGE.fullmatch(text):
        low, high = (
            _code(f"{match[1]}.{match[2]}", text),
            _code(f"{match[3] or match[1]}.{match[4]}", text),
        )
        if low >= high:
            raise ValueError(f'"{text}": must end behind its beginning')
        return low, high
    address, slash, length = text.partition("/")
    low = _code(address, text)
    if not slash:
        return low, low
    if not re.fullmatch(r"[0-9]{1,2}", length) or not 8 <= int(length) <= 32:
        raise ValueError(f'"{text}": the length of a network of codes is 8 to 32')
    free = (1 << 32 - int(length)) - 1
    if low & free:
        raise ValueError(f'"{text}": has bits set behind its length')
    return low, low | free


def _code(address: str, text: str) -> int:
    try:
        number = int(IPv4Address(address))
    except AddressValueError:
        raise ValueError(
            f'"{text}": is no code, such as "127.0.0.2", "127.0.0.4-7", "127.0.2.0/24", '
            f'"127.0.*.3" or "&8"'
        ) from None
    if number >> 24 != _LOOPBACK:
        raise ValueError(f'"{text}": codes lie in 127.0.0.0/8; nothing else is an answer of a list')
    return number


def _crossed(span: CodeRange, low: int, high: int) -> bool:
    """Whether two ranges share codes, and neither lies inside the other; equal ones do."""
    apart = high < span.low or span.high < low
    inside = span.low <= low and high <= span.high
    around = low <= span.low and span.high <= high
    return not apart and inside == around
