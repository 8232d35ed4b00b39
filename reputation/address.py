"""RepIP: what the counters remember of a client address and of its network, as one of four flags.

Every message is evidence, by weight (`Weights`): a spam verdict of ours counts as one bad message, a complaint as five (most people
never complain), a trap hit as ten (nobody ever asked for mail there), a pardon as five good ones.  Evidence of the last day counts in
full, older evidence a quarter, and what is older than two weeks is forgotten by the counters.

    bad   = spam + 5 complaints + 10 traps         today + (two weeks - today) / 4
    good  = messages that were no spam, less those complained of, + 5 pardons
    share = (bad + 4 p) / (bad + good + 4)         p: the share in the network, drawn to one half by 4 messages
    low, high = share -+ 2 sqrt(share (1 - share) / (bad + good + 5))

    bad      at least 10 bad, low >= 0.8, 4 times as much bad as all good mail of two weeks, and no fewer bad messages than good ones
    poor     at least 3 bad and low >= 0.4; or no good mail to speak of (under 3), in a network that is bad; or suddenly loud (below)
    good     at least 20 good and high <= 0.1
    unknown  everything else

Good mail of two weeks is weighed in full against bad mail: an address that people get letters from (a company's NAT, a large sender) is not
refused for a handful of bad ones.  It takes four times its two weeks by weight, and by number of messages, whatever each of them weighs, at
least as many: one message may be judged spam, complained of and caught in a trap, but it is one message.  A network never makes an address bad, only poor.

Recovery.  Mail that is refused before its content is not counted, so being refused feeds nothing.  Bad evidence B, none added, weighs B / 4 when
a day has passed: up to B = 40 the address is not refused any longer then; after two weeks nothing is left of it.

Suddenly loud: 50 or more messages within the hour, five times the average day of the two weeks before, under at least half as many sender
addresses, and less than 20 good messages before, in the whole network.  Mailing lists have one sender, and large providers a past.

Known limits: the counters know two windows, so evidence falls to a quarter in one step; spam verdicts of ours are among the evidence, and so a
filter's mistake about an address lasts up to two weeks (`oborona counters forget`).
"""

from __future__ import annotations

from enum import StrEnum
from math import sqrt
from typing import Final, NamedTuple

import msgspec


class Flag(StrEnum):
    """What is to be expected of an address."""

    GOOD = "good"
    UNKNOWN = "unknown"
    POOR = "poor"
    BAD = "bad"


class Counts(NamedTuple):
    """What one window counted, each 0 or more."""

    seen: int = 0
    spam: int = 0
    complaints: int = 0
    pardons: int = 0
    traps: int = 0


class History(NamedTuple):
    """What is remembered of an address, or of a network."""

    day: Counts = Counts()  # the last 144 buckets of 10 minutes
    fortnight: Counts = Counts()  # the last 14 days, that day included
    hour: int = 0  # messages of the last hour
    senders: int = 0  # distinct envelope senders, last day; of an address


class RepIP(msgspec.Struct, frozen=True, kw_only=True):
    """The judgement, with what it rests on."""

    flag: Flag = Flag.UNKNOWN
    share: float = 0.5  # expected share of bad mail, 0 to 1
    confidence: float = 0.0  # 0 = knows nothing, towards 1 with each message
    say: str = ""  # the evidence in words; empty where there is none


class Weights:
    """How much each kind of evidence counts, in messages."""

    COMPLAINT: Final = 5.0
    TRAP: Final = 10.0
    PARDON: Final = 5.0
    OLD: Final = 0.25  # of what is older than a day
    PRIOR: Final = 4.0  # how many messages the network's history is worth, and ignorance of the network


BAD_LEAST: Final = 10.0
BAD_LOW: Final = 0.8
BAD_TO_GOOD: Final = 4.0
POOR_LEAST: Final = 3.0
POOR_LOW: Final = 0.4
GOOD_LEAST: Final = 20.0
GOOD_HIGH: Final = 0.1
LOUD_HOUR: Final = 50
LOUD_TIMES: Final = 5.0
NETWORK_GOOD: Final = 20.0  # good mail that speaks for who is loud all at once
HARDLY: Final = 3.0  # good messages; fewer do not set an address apart from its network


class _Evidence(NamedTuple):
    bad: float
    good: float
    good_fortnight: float  # unweighted
    bad_messages: float  # unweighted, of two weeks: at least so many different ones

    @property
    def known(self) -> float:
        return self.bad + self.good


def judge(address: History, network: History) -> RepIP:
    """Return the flag of an address.

    Args:
        address: its own history.
        network: that of its /24 or /64, the address's own included.

    Returns:
        Monotone: a further spam verdict, complaint or trap hit never makes the flag better, a further pardon never worse.

    Source: Beta-binomial model with the network as its prior; the interval is the normal approximation of the Beta posterior.
    """
    own, around = _evidence(address), _evidence(network)
    others = _Evidence(
        max(0.0, around.bad - own.bad),
        max(0.0, around.good - own.good),
        max(0.0, around.good_fortnight - own.good_fortnight),
        max(0.0, around.bad_messages - own.bad_messages),
    )
    near = (others.bad + Weights.PRIOR / 2) / (others.known + Weights.PRIOR)
    share = (own.bad + Weights.PRIOR * near) / (own.known + Weights.PRIOR)
    margin = 2 * sqrt(share * (1 - share) / (own.known + Weights.PRIOR + 1))
    flag = Flag.UNKNOWN
    if _bad(own, share - margin):
        flag = Flag.BAD
    elif any(
        (
            own.bad >= POOR_LEAST and share - margin >= POOR_LOW,
            own.good < HARDLY and _bad_around(others),
            max(others.good_fortnight, own.good_fortnight - address.hour) < NETWORK_GOOD and _loud(address),
        )
    ):
        flag = Flag.POOR
    elif own.good >= GOOD_LEAST and share + margin <= GOOD_HIGH:
        flag = Flag.GOOD
    return RepIP(
        flag=flag,
        share=share,
        confidence=own.known / (own.known + Weights.PRIOR),
        say=_say(address, network, own),
    )


def _evidence(history: History) -> _Evidence:
    day, fortnight = history.day, history.fortnight
    bad_day, good_day = _weigh(day)
    bad_all, good_all = _weigh(fortnight)
    return _Evidence(
        bad_day + Weights.OLD * max(0.0, bad_all - bad_day),
        good_day + Weights.OLD * max(0.0, good_all - good_day),
        good_all,
        max(fortnight.spam, fortnight.complaints, fortnight.traps),
    )


def _weigh(counts: Counts) -> tuple[float, float]:
    bad = counts.spam + Weights.COMPLAINT * counts.complaints + Weights.TRAP * counts.traps
    fine = max(0, counts.seen - counts.spam - counts.complaints - counts.traps)
    return bad, fine + Weights.PARDON * counts.pardons


def _bad(own: _Evidence, low: float) -> bool:
    return (
        own.bad >= BAD_LEAST
        and low >= BAD_LOW
        and own.bad >= BAD_TO_GOOD * own.good_fortnight
        and own.bad_messages >= own.good_fortnight
    )


def _bad_around(others: _Evidence) -> bool:
    share = (others.bad + Weights.PRIOR / 2) / (others.known + Weights.PRIOR)
    return _bad(others, share - 2 * sqrt(share * (1 - share) / (others.known + Weights.PRIOR + 1)))


def _loud(address: History) -> bool:
    before = max(0, address.fortnight.seen - address.day.seen) / 13
    return (
        address.hour >= LOUD_HOUR
        and address.hour > LOUD_TIMES * before
        and 2 * address.senders >= address.hour
    )


def _say(address: History, network: History, own: _Evidence) -> str:
    fortnight = address.fortnight
    if not fortnight.seen and not own.known:
        return f"new here; network: {_words(network.fortnight)}" if network.fortnight.seen else ""
    return f"{_words(fortnight)} in two weeks, {address.hour} in the last hour"


def _words(counts: Counts) -> str:
    parts = [f"{counts.spam} spam of {counts.seen}"]
    for number, what in (
        (counts.complaints, "complaints"),
        (counts.traps, "traps"),
        (counts.pardons, "pardons"),
    ):
        if number:
            parts.append(f"{number} {what}")
    return ", ".join(parts)
