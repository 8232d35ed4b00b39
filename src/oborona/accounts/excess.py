"""An excess: an account, or an address of ours, went over a limit in one window."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Protocol

import msgspec

from oborona.policy.limit_table import LimitCount

LINE_OCTETS: Final = 65_536
WINDOWS_S: Final = {"recent": 600.0, "hour": 3600.0, "day": 86_400.0, "fortnight": 14 * 86_400.0}
"""Lengths of windows."""
LISTED: Final = "listed"
"""What is too much where DNS lists have an address of an account."""
STRANGERS_DO: Final = frozenset({LimitCount.FAILED_LOGINS})
"""What is too much where others than the account itself did it, as they can to anybody."""
MOST_NAME: Final = 255  # characters of an account, limit or metric
LAST_TIME: Final = 253_402_300_800.0  # Unix seconds of the end of the year 9999


class WrongExcess(ValueError):  # noqa: N818 - what was found
    """An excess that nothing can be made of; the text says why."""


class Excess(msgspec.Struct, frozen=True, kw_only=True):
    """What went over which limit, by how much, and what shows it."""

    account: str  # id or login; empty: none is known of the address
    limit: str  # name of the limit
    metric: str  # what it counts, such as recipients or flow.streams
    window: str  # recent, hour, day, fortnight
    value: float  # what was counted in the window
    most: float  # what the limit allows
    at: float  # Unix seconds
    address: str = ""  # that sent, canonical text; empty: not known
    usual: float | None = None  # of an ordinary day; None = not known
    then: str = ""  # what the limit itself has done, such as hold; empty: nothing
    shadow: bool = False  # the limit is on trial: nothing is done
    idents: tuple[int, ...] = ()  # journal ids of messages that show it
    evidence: Mapping[str, object] = {}  # what JSON can hold: subjects, domains, destinations


_DECODER: Final = msgspec.json.Decoder(Excess)


class ExcessSink(Protocol):
    """Takes excesses: the inspector, or a spool on the way to it."""

    def take(self, excess: Excess) -> None:
        """Take one over.

        Raises:
            WrongExcess: as of `check_excess`.
            StoreError: it can't be written down.
        """
        ...


def parse_excess(line: bytes) -> Excess:
    """Return the excess of a line of JSON.

    Raises:
        WrongExcess: it is none.
    """
    if len(line) > LINE_OCTETS:
        raise WrongExcess(f"is longer than {LINE_OCTETS} octets")
    try:
        return _DECODER.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise WrongExcess(str(error) or "is nested too deep") from None


def checked_excesses(lines: Iterable[bytes], refuse: Callable[[str], None]) -> Iterator[Excess]:
    """Yield the excesses of lines; one that is none, or should be in no file, holds up no other.

    Args:
        lines: of JSON; empty ones are passed over.
        refuse: is told why a line is not taken.
    """
    for line in lines:
        if not line:
            continue
        try:
            excess = parse_excess(line)
            check_excess(excess)
        except WrongExcess as error:
            refuse(str(error))
        else:
            yield excess


def check_excess(excess: Excess) -> None:
    """Refuse what no file should hold.

    Raises:
        WrongExcess: it names no account, a text is too long or can't be printed, a number is none,
            or its window is none that there is.
    """
    if not excess.account or not excess.limit or not excess.metric:
        raise WrongExcess("an excess needs an account, a limit and a metric")
    for text in (excess.account, excess.limit, excess.metric, excess.address, excess.then):
        if len(text) > MOST_NAME or not text.isprintable():
            raise WrongExcess(f"{text[:50]!r} is too long, or can't be printed")
    if excess.window not in WINDOWS_S:
        raise WrongExcess(f"window is none of {', '.join(WINDOWS_S)}")
    for number in (excess.value, excess.most, excess.usual or 0.0):
        if not math.isfinite(number) or number < 0:
            raise WrongExcess("value, most and usual are numbers, 0 or more")
    if not 0 <= excess.at < LAST_TIME:
        raise WrongExcess("at is before 1970 or after 9999")
