"""RepIP: what the counters remember of a client address and of its network, as one of four flags
and a number.

Every message is evidence, by weight (`oborona.reputation.evidence`): a spam verdict of ours counts
as one bad message, a complaint as five (most people never complain), a trap hit as ten (nobody ever
asked for mail there; one or two in two weeks weigh nothing), a pardon as five good ones.

    bad, good   today in full, older a quarter                   all bad, all good   two weeks in
                full
    fresh       bad of today, and at most 17 of a quarter of what is older
    share       (bad + 4 p) / (bad + good + 4), p: the share in the rest of the network, drawn to
                one half by 4 messages
    low, high   share -+ 2 sqrt(share (1 - share) / (bad + good + 5))
    spoken for  at least 5 good messages in two weeks, and all good > all bad

    bad      judged      fresh >= 20, low >= 0.5, all bad >= 1.2 all good + a quarter of all good
             mail of the rest of the network, and no fewer
                         bad messages than good ones, whatever each of them weighs
             cried out   10 complaints and trap hits today, at least one for a hundred messages of
                         today that passed, and for 25 good ones of before; each person and each
                         trap is one of them a day at most (`oborona.feedback.voices`)
             neighbour   not spoken for, a bad message, and one at least for two good ones, in a bad
                         network
    poor     at least 3 bad and low >= 0.4; or not spoken for, in a bad network; or suddenly loud
             (below)
    good     at least 20 good, high <= 0.1, and in two weeks no more than one complaint or trap hit
             for 300 good messages
    unknown  everything else

Vouched for: for five complaints and trap hits of today, or of an average day of the two weeks, one
known author at least writes from here, today or on an average day.  Then these are words on who
wrote, and not on the address, and spam verdicts alone speak against it.  A known author was proved,
had good mail on a day before, and nobody complained of his: who complains of a relay, or has it
write to traps, does not have it refused to the others who write from there.

A network is bad when the others in it have sent at least 3 bad messages that weigh 4, and 1.3 times
as many as good ones, two weeks in full: networks of rented or infected machines hold each address
to few messages, and stay what they are for weeks.  It makes nobody bad without a bad message of his
own.

Good mail of two weeks is weighed in full against bad mail: an address that people get letters from
(a company's NAT, a large sender) is not refused for a handful of bad ones, and good neighbours
speak for a provider's host that is new here.

Reaction.  Counts are read with each connection, so the next connection after the evidence is
refused.  A filter may know nothing of a new campaign, and its messages then pass for good; that one
in a hundred is complained of within the day is more than any mail that people want.

Recovery.  Mail that is refused before its content is not counted, so being refused feeds nothing.
A day after the last message that was let in and found bad, an address that is not in a bad network
is let in again, however much it has sent: fresh is 17 at most then.  Three bad messages refuse it
for another day.  In a bad network it may take two weeks; after these nothing is left.

Suddenly loud: 50 or more messages within the hour, five times the average day of the two weeks
before, under at least half as many sender addresses, and less than 20 good messages before, in the
whole network.  Mailing lists have one sender, and large providers a past.

Trust is 100 (1 - 2 share): 0 for who is not known, towards 100 with good mail, towards -100 with
bad.

Known limits: whoever sends a handful of messages here from each network is let in with most of
them; spam through good addresses is not refused here; spam verdicts of ours are among the evidence,
and so a filter's mistake about an address lasts a day, or longer where it goes on
(`oborona counters forget`, `oborona reputation set`).  `docs/measured/senders.md` has what it
refuses in thirty days of made-up traffic.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from oborona.reputation.evidence import PRIOR, TRAPS_LEAST, ReportWeight, SpamEvidence, margin, mean
from oborona.reputation.flag import ReputationFlag


class AddressCounts(NamedTuple):
    """What one window counted, each 0 or more."""

    seen: int = 0
    spam: int = 0
    complaints: int = 0
    pardons: int = 0
    traps: int = 0


class AddressHistory(NamedTuple):
    """What is remembered of an address, or of a network."""

    day: AddressCounts = AddressCounts()  # the last 144 buckets of 10 minutes
    fortnight: AddressCounts = AddressCounts()  # the last 14 days, that day included
    hour: int = 0  # messages of the last hour
    senders: int = 0  # distinct envelope senders, last day; of an address
    authors: int = 0  # known authors, last day; of an address
    author_days: int = 0  # the same of two weeks: each once a day


class SenderOwnCounts(NamedTuple):
    """What the sender who is judged sent himself in the last day: it speaks for nobody."""

    good: int = 0  # messages that were no spam
    hour: int = 0  # messages of the last hour


NO_OWN_COUNTS: Final = SenderOwnCounts()


class RepIP(msgspec.Struct, frozen=True, kw_only=True):
    """The judgement, with what it rests on."""

    flag: ReputationFlag = ReputationFlag.UNKNOWN
    share: float = 0.5  # expected share of bad mail, 0 to 1
    confidence: float = 0.0  # 0 = knows nothing, towards 1 with each message
    say: str = ""  # the evidence in words; empty where there is none

    @property
    def trust(self) -> float:
        """Points, -100 to 100; 0 for who is not known."""
        return 100 * (1 - 2 * self.share)


OLD: Final = 0.25  # weight of what is older than a day
BAD_LEAST: Final = 20.0  # fresh
BAD_LOW: Final = 0.5
BAD_TO_GOOD: Final = 1.2
OLD_MOST: Final = 17.0  # of what is fresh: less than BAD_LEAST by three messages
AROUND: Final = 0.25  # how much good neighbours speak for an address
CRIES: Final = 10  # complaints and trap hits
CRY_TO_PASSED: Final = 100  # messages of today
CRY_TO_GOOD: Final = 25.0  # good ones before today
AUTHOR_TO_CRY: Final = 5  # complaints and trap hits of a day that one known author outweighs
NETWORK_LEAST: Final = 4.0
NETWORK_MESSAGES: Final = 3
NETWORK_TO_GOOD: Final = 1.3  # a provider with stolen accounts may have as much of either
POOR_LEAST: Final = 3.0
POOR_LOW: Final = 0.4
GOOD_LEAST: Final = 20.0
GOOD_HIGH: Final = 0.1
GOOD_TO_CRY: Final = 300  # providers of mailboxes take 0.3 % of complaints for bad
SPOKEN_LEAST: Final = 5.0  # good messages that set an address apart from its network
DAYS_BEFORE: Final = 13  # of two weeks, before the last day
LOUD_HOUR: Final = 50
LOUD_TIMES: Final = 5.0
NETWORK_GOOD: Final = 20.0  # good mail that speaks for who is loud all at once


class _AddressEvidence(NamedTuple):
    bad: float  # weighed by age
    good: float
    fresh: float
    all_bad: float  # of two weeks
    all_good: float
    bad_messages: int  # of two weeks: at least so many different ones
    cries: int  # complaints and trap hits of today
    passed: int  # messages of today of which nobody said anything bad
    settled: float  # good before today

    @property
    def spoken_for(self) -> bool:
        return self.all_good >= SPOKEN_LEAST and self.all_good > self.all_bad


@lru_cache(maxsize=256)  # a client's is asked for at its connection and again with its message
def judge(
    address: AddressHistory, network: AddressHistory, sender: SenderOwnCounts = NO_OWN_COUNTS
) -> RepIP:
    """Return the flag of an address.

    Args:
        address: its own history.
        network: that of its /24 or /64, the address's own included.
        sender: of a message that is judged.

    Returns:
        Monotone: a further spam verdict, complaint or trap hit never makes the flag or the trust
            better, a further pardon never worse, and a further
        message of the sender neither.

    Source: Beta-binomial model with the network as its prior; the interval is the normal
        approximation of the Beta posterior.
    """
    quoted = address, network
    address, network = _without_few_traps(address), _without_few_traps(network)
    credited = _unsaid(address) if _vouched(address) else address
    own = _evidence(
        _without(credited.day, sender), _without(credited.fortnight, sender, credited.day)
    )
    others = _evidence(
        _subtract(network.day, address.day), _subtract(network.fortnight, address.fortnight)
    )
    total = own.bad + own.good
    share = mean(
        SpamEvidence(own.bad, own.good), mean(SpamEvidence(others.all_bad, others.all_good))
    )
    sure = margin(share, total)
    low, high = share - sure, share + sure
    neighbour = not own.spoken_for and _is_bad(others)
    flag = ReputationFlag.UNKNOWN
    if (
        _is_certain(own, others, low)
        or _cried_out(own)
        or (neighbour and 2 * own.bad_messages > own.all_good)
    ):
        flag = ReputationFlag.BAD
    elif any(
        (
            neighbour,
            own.bad >= POOR_LEAST and low >= POOR_LOW,
            max(others.all_good, own.all_good - address.hour) < NETWORK_GOOD
            and _loud(address, sender),
        )
    ):
        flag = ReputationFlag.POOR
    elif (
        own.good >= GOOD_LEAST
        and high <= GOOD_HIGH
        and own.all_good >= GOOD_TO_CRY * _cries(address.fortnight)
    ):
        flag = ReputationFlag.GOOD
    return RepIP(
        flag=flag,
        share=share,
        confidence=total / (total + PRIOR),
        say=_say(*quoted, known=bool(total), neighbour=neighbour),
    )


def _without(
    counts: AddressCounts, sender: SenderOwnCounts, day: AddressCounts | None = None
) -> AddressCounts:
    """Return counts without the sender's own good messages of the last day."""
    return counts._replace(seen=counts.seen - min(sender.good, _passed(day or counts)))


def _without_few_traps(history: AddressHistory) -> AddressHistory:
    """Return a history without trap hits where these are too few to say anything."""
    if not 0 < history.fortnight.traps < TRAPS_LEAST:
        return history
    return history._replace(
        day=history.day._replace(traps=0), fortnight=history.fortnight._replace(traps=0)
    )


def _vouched(address: AddressHistory) -> bool:
    """Tell whether so many known authors write from an address that what people and traps say is no
    word on it.
    """
    cries = _a_day(_cries(address.day), _cries(address.fortnight))
    return cries > 0 and _a_day(address.authors, address.author_days) * AUTHOR_TO_CRY >= cries


def _a_day(today: int, fortnight: int) -> float:
    """Return how much it is today, or was on an average day before, whichever is more."""
    return max(today, (fortnight - today) / DAYS_BEFORE)


def _unsaid(address: AddressHistory) -> AddressHistory:
    """Return a history without complaints and trap hits."""
    return address._replace(
        day=address.day._replace(complaints=0, traps=0),
        fortnight=address.fortnight._replace(complaints=0, traps=0),
    )


def _subtract(all_: AddressCounts, part: AddressCounts) -> AddressCounts:
    return AddressCounts(*(max(0, count - share) for count, share in zip(all_, part, strict=True)))


def _evidence(day: AddressCounts, fortnight: AddressCounts) -> _AddressEvidence:
    bad_day, good_day = _weigh(day)
    bad_all, good_all = _weigh(fortnight)
    old = OLD * max(0.0, bad_all - bad_day)
    settled = max(0.0, good_all - good_day)
    return _AddressEvidence(
        bad=bad_day + old,
        good=good_day + OLD * settled,
        fresh=bad_day + min(OLD_MOST, old),
        all_bad=bad_all,
        all_good=good_all,
        bad_messages=max(fortnight.spam, fortnight.complaints, fortnight.traps),
        cries=_cries(day),
        passed=_passed(day),
        settled=settled,
    )


def _weigh(counts: AddressCounts) -> tuple[float, float]:
    bad = (
        counts.spam + ReportWeight.COMPLAINT * counts.complaints + ReportWeight.TRAP * counts.traps
    )
    return bad, _passed(counts) + ReportWeight.PARDON * counts.pardons


def _cries(counts: AddressCounts) -> int:
    return counts.complaints + counts.traps


def _passed(counts: AddressCounts) -> int:
    return max(0, counts.seen - counts.spam - counts.complaints - counts.traps)


def _is_certain(own: _AddressEvidence, others: _AddressEvidence, low: float) -> bool:
    return (
        own.fresh >= BAD_LEAST
        and low >= BAD_LOW
        and own.all_bad >= BAD_TO_GOOD * own.all_good + AROUND * others.all_good
        and own.bad_messages >= own.all_good
    )


def _cried_out(own: _AddressEvidence) -> bool:
    return (
        own.cries >= CRIES
        and CRY_TO_PASSED * own.cries >= own.passed
        and CRY_TO_GOOD * own.cries >= own.settled
    )


def _is_bad(others: _AddressEvidence) -> bool:
    return (
        others.all_bad >= NETWORK_LEAST
        and others.bad_messages >= NETWORK_MESSAGES
        and others.bad_messages >= NETWORK_TO_GOOD * others.all_good
    )


def _loud(address: AddressHistory, sender: SenderOwnCounts) -> bool:
    before = max(0, address.fortnight.seen - address.day.seen) / DAYS_BEFORE
    return (
        address.hour >= LOUD_HOUR
        and address.hour > LOUD_TIMES * before
        and 2 * address.senders >= address.hour - sender.hour
    )


def _say(address: AddressHistory, network: AddressHistory, *, known: bool, neighbour: bool) -> str:
    fortnight = address.fortnight
    around = f"network: {_describe_counts(network.fortnight)}"
    if not fortnight.seen and not known:
        return f"new here; {around}" if network.fortnight.seen else ""
    own = f"{_describe_counts(fortnight)} in two weeks, {address.hour} in the last hour"
    return f"{own}; {around}" if neighbour else own


def _describe_counts(counts: AddressCounts) -> str:
    parts = [f"{counts.spam} spam of {counts.seen}"]
    for number, noun in (
        (counts.complaints, "complaints"),
        (counts.traps, "traps"),
        (counts.pardons, "not-spam reports"),
    ):
        if number:
            parts.append(f"{number} {noun}")
    return ", ".join(parts)
