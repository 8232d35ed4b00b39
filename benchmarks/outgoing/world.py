"""What outgoing mail is made of: every number, what it means and where it comes from.

A number without a source is a guess, and says so.  None of them was chosen by what a rule makes of
it; where a source leaves a range, the value that is harder for limits was taken.
"""

from __future__ import annotations

from typing import Final

import msgspec

LEARNING: Final = 14  # days in shadow mode, as docs/policy/limits.md advises
DAYS: Final = LEARNING + 30
GUESS: Final = "a guess"


class World(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of a world; rates are a day's, shares are 0 to 1."""

    newsletters: int = 25
    tickets: int = 20
    lists: int = 5
    monitors: int = 5
    mailings: int = 12
    travellers: int = 40
    beginners: int = 8
    newcomers: int = 40
    staff: int = 150
    day_median: float = 8.0
    day_sigma: float = 0.8
    weekend: float = 0.25
    alone: float = 0.70
    many: float = 0.05
    strangers: float = 0.15
    invitations: float = 0.05
    readers_median: float = 450.0
    readers_sigma: float = 1.5
    readers_most: int = 5000
    growth: float = 3.0
    ticket_median: float = 80.0
    ticket_strangers: float = 0.6
    mistaken: float = 0.0002
    caught: float = 0.5
    alike: float = 1.2
    stolen: int = 20
    new: int = 15
    warmed: int = 10
    split: int = 5
    split_over: int = 20
    slowest: float = 20.0
    fastest: float = 10_000.0
    goal_low: float = 500.0
    goal_high: float = 50_000.0
    crowds: float = 0.2
    one_text: float = 0.6
    spun: float = 0.3
    alert_h: float = 1.0
    rounds: tuple[float, ...] = (9.0, 13.0, 17.0)


SOURCES: Final[dict[str, tuple[str, str]]] = {
    "newsletters": ("accounts that send one: a quarter daily on workdays, half weekly, a quarter monthly", GUESS),
    "tickets": ("ticket systems and shops: acknowledgements of one text, and answers by people", GUESS),
    "lists": ("discussion lists of a university, 60 to 800 readers, in batches of 50 (the usual SMTP limit of list managers)", GUESS),
    "monitors": ("machines that watch others: some mails a day to three people, once in a while hundreds in an hour", GUESS),
    "mailings": ("ordinary accounts with one or two mailings a month to 100 to 600 people (school holidays, clubs, parishes)", GUESS),
    "travellers": ("people who are in two to six countries within the month, a tenth of them behind a VPN", GUESS),
    "beginners": ("of the newcomers: begin with a mailing to 50 to 400 people", GUESS),
    "newcomers": ("accounts made within the month", GUESS),
    "staff": ("of ordinary accounts: of the university, one customer; all others are of customers of 1 to 30 accounts", GUESS),
    "day_median": ("messages of an ordinary person on a workday, median, log-normal: mean 11",
        "business users send and receive some 121 a day, of which they send fewer (Radicati Group, 2015); private people write less"),
    "day_sigma": ("the same, sigma", GUESS),
    "weekend": ("of a workday's mail", "benchmarks/traffic, 0.3"),
    "alone": ("of people's mail: to one recipient; a quarter to 2 to 5", GUESS),
    "many": ("of people's mail: to 6 to 30", GUESS),
    "strangers": ("of people's recipients: somebody they never wrote to", GUESS),
    "invitations": ("of people: write one letter to 15 to 60 within the month, half of them each apart", GUESS),
    "readers_median": ("readers of a newsletter, log-normal", "55 % of 1,000 web businesses had fewer than 500, 69 % fewer than 1,000 (dybbs8.com, a survey of 2003)"),
    "readers_sigma": ("the same, sigma", "the same survey: 10 % more than 10,000"),
    "readers_most": ("cut there: larger ones rent a service", GUESS),
    "growth": ("times as many readers after the month, of every newsletter", "the bar"),
    "ticket_median": ("mails of a ticket system a day, log-normal, sigma 0.8; one day of the month four times as many", GUESS),
    "ticket_strangers": ("of them to somebody who had none for two weeks", GUESS),
    "mistaken": ("of good mail: spam by its content", "7 of 250 hard and none of 2,500 easy ones (docs/measured/catch.md); people's own mail is easy"),
    "caught": ("of spam: caught by its content, each campaign by a share of its own", "benchmarks/traffic has 0.7 to 0.95 of inbound spam; of own mail no client, SPF or DMARC is asked"),
    "alike": ("how far a campaign's messages share their fate: Beta(caught x this, missed x this)", "benchmarks/traffic"),
    "stolen": ("of 50 spammers: with the stolen password of an ordinary person", GUESS),
    "new": ("of 50: with a new account", GUESS),
    "warmed": ("of 50: with a new account, three weeks of a person's mail, each week more", GUESS),
    "split": ("of 50: over many accounts of one customer", GUESS),
    "split_over": ("so many", "the bar"),
    "slowest": ("people an hour that a spammer writes to, log-uniform, the low end", GUESS),
    "fastest": ("the high end: three a second", "a stolen password by four connections sent 85 to 300 a second (docs/measured/outgoing.md); who wants to stay hidden does not"),
    "goal_low": ("people whom a spammer wants to reach, log-uniform, the low end", GUESS),
    "goal_high": ("the high end", "5,000 sent and 3,000 in the queue (mailcow issue 3101); 80,000 of 50 recipients in the queue (bigwetfish, server 30)"),
    "crowds": ("of spammers: 50 recipients a message", "bigwetfish, server 30"),
    "one_text": ("of spammers: one text, varied by name and number", GUESS),
    "spun": ("of spammers: 5 to 40 texts that share little; the others' are too short to be counted", GUESS),
    "alert_h": ("hours from an alert to somebody who looks, log-normal (sigma 1), from 8 to 22 h; at night the next morning", GUESS),
    "rounds": ("hours of workdays at which somebody looks through what is held; on others at the first alone", GUESS),
}  # fmt: skip
"""What each number means, and its source."""
