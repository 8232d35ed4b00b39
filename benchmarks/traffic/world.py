"""What the traffic is made of: every number, the range that it is drawn from, and where it comes
from.

The defaults are the world that RepIP was tuned on; `drawn` gives another one, each number anywhere
in its range, for what is reported.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec
import numpy as np

LEARNING: Final = 14  # days on which nobody is refused, as docs/senders/clients.md advises
DAYS: Final = LEARNING + 30


class World(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one world; rates are a day's, shares are 0 to 1."""

    spam: float = 3000.0
    good: float = 2000.0
    bots: float = 0.45
    snowshoe: float = 0.20
    bursts: float = 0.15
    steady: float = 0.07
    hacked: float = 0.05
    warmed: float = 0.03
    relayed: float = 0.30
    sold: float = 0.01
    infected: float = 0.01
    pools: float = 200.0
    bot_visit: float = 8.0
    shoe_messages: float = 20.0
    shoe_addresses: float = 60.0
    caught: float = 0.85
    late: float = 0.10
    alike: float = 1.2
    mistaken: float = 0.001
    complain: float = 0.03
    complain_h: float = 3.0
    noise: float = 0.02
    pardon: float = 0.20
    traps: float = 0.005
    liked: float = 0.001
    disliked: float = 0.01
    hosted: float = 0.30
    pooled: float = 0.03
    newcomers: float = 0.20
    inherited: float = 0.002


class Number(NamedTuple):
    """One number of the world."""

    low: float
    high: float
    meaning: str
    source: str


ASSUMED: Final = "assumed"

NUMBERS: Final[dict[str, Number]] = {
    "spam": Number(2000, 4000, "spam connections a day", ASSUMED),
    "good": Number(1500, 2500, "good connections a working day", "assumed; spam was 95 % of attempts at a small site (SpamAssassin users list, 2006)"),
    "bots": Number(0.35, 0.55, "of spam: machines of botnets in pools of dynamic addresses", "assumed; over 90 % in the years of the great botnets"),
    "snowshoe": Number(0.15, 0.30, "of spam: networks rented for it, few messages an address", ASSUMED),
    "bursts": Number(0.10, 0.20, "of spam: fresh addresses that send for hours", ASSUMED),
    "steady": Number(0.05, 0.10, "of spam: servers that do it for weeks", ASSUMED),
    "hacked": Number(0.03, 0.08, "of spam: through large providers, from customers' stolen accounts", ASSUMED),
    "warmed": Number(0.02, 0.05, "of spam: addresses that behave for ten days and then burst", ASSUMED),
    "relayed": Number(
        0.2, 0.5, "of what forwarders pass on: spam; of the mail of lists a tenth of that", ASSUMED
    ),
    "sold": Number(0.005, 0.02, "of spam: addresses of good senders that have a new owner", ASSUMED),
    "infected": Number(0.005, 0.02, "of spam: machines behind the address of a university", ASSUMED),
    "pools": Number(100, 400, "/24 networks with bots, by Zipf's law: a tenth sends two thirds", ("a tenth of bad neighbourhoods sends most spam (Moura, Sadre, Pras 2011); their "
        "number is assumed")),
    "bot_visit": Number(3, 20, "messages of a bot before its address changes", ("few messages over very short periods (Ramachandran, Feamster 2006); 3.1 connections "
        "an address and week (cks, utcc.utoronto.ca, 2005); 23 a month (botnet-tracker, "
        "September 2016)")),
    "shoe_messages": Number(5, 50, "messages of a snowshoe address, over one to three days", ASSUMED),
    "shoe_addresses": Number(30, 200, "snowshoe addresses in a /24", ("50, so that its other "
        "tenants forbid to refuse it whole (circleid.com, on snowshoe "
        "spam and how not to look like it)")),
    "caught": Number(0.70, 0.95, "of spam that the content filter catches", ASSUMED),
    "late": Number(0.0, 0.3, "of what is caught: later, by a second look; it counts nothing", ASSUMED),
    "alike": Number(0.8, 3.0, ("how far a campaign's messages share their fate: each is caught "
        "with a share of its "
        "own, Beta(caught x this, missed x this)"), ASSUMED),
    "mistaken": Number(0.0005, 0.002, "of good mail judged spam; half of it by whole issues of newsletters", ASSUMED),
    "complain": Number(0.02, 0.05, "of spam in the inbox: complained of", ("assumed; a fifth of "
        "users has ever reported spam to their provider (Pew Internet, "
        "June 2003)")),
    "complain_h": Number(1, 6, "hours from delivery to complaint, median, log-normal (sigma 1.2)", ASSUMED),
    "noise": Number(0.01, 0.04, ("of people's acts that are wrong: so many times as much as spam "
        "is good mail "
        "complained of, and caught spam pardoned"), "people err more than filters (Cormack, Kolcz 2009)"),
    "pardon": Number(0.1, 0.4, "of good mail in the spam folder: pardoned, half a day later", ASSUMED),
    "traps": Number(0.002, 0.01, "of spam: to a trap", ASSUMED),
    "liked": Number(0.0002, 0.001, "of a newsletter's copies: complained of", "below 0.1 % is acceptable (wordtothewise.com, January 2025)"),
    "disliked": Number(0.005, 0.015, "of a disliked newsletter's copies: complained of", "over 0.3 % is bad (wordtothewise.com, January 2025)"),
    "hosted": Number(0.2, 0.5, "of small good senders: in networks of hosting companies where spammers rent, too", ("refusing a whole /24 hits many good mail servers (Wilcox, Papadopoulos, Heidemann "
        "2010)")),
    "pooled": Number(0.01, 0.06, "of small good senders: a fixed address in a pool with bots", ASSUMED),
    "newcomers": Number(0.1, 0.4, "of small good senders: first heard of within the month", "most good mail comes from long-lived addresses (Venkataraman and others 2007)"),
    "inherited": Number(0.0, 0.004, "of small good senders: at an address that sent spam until 1 to 14 days before", ASSUMED),
}  # fmt: skip

_MIX: Final = ("bots", "snowshoe", "bursts", "steady", "hacked", "warmed", "sold", "infected")


def drawn(rng: np.random.Generator) -> World:
    """Return a world with each number drawn from its range; the kinds of spam add up to one."""
    found = {name: float(rng.uniform(number.low, number.high)) for name, number in NUMBERS.items()}
    whole = sum(found[name] for name in _MIX)
    return World(**{name: found[name] / whole if name in _MIX else found[name] for name in found})
