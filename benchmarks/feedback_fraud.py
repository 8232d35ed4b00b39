"""How much of what bought accounts say is believed: a made-up site of a thousand people, and robots
beside them.

    python benchmarks/feedback_fraud.py                       three minutes
    python benchmarks/feedback_fraud.py --kinds patient --shares 0.05 0.1

Each day ten campaigns of spam reach the inboxes of 200 people each, one in five of them a trap,
too; six newsletters are wrongly filed.  Of those whom a campaign reached, 5 % say what they think
of it within the day, as at Yahoo! Mail (6 % of people ever complained, Rao and Reiley 2012); 2 % of
these press the wrong button.  Seven in ten people have a past, and three in ten of those complained
before.  Robots are of one of four kinds; on the last day they all speak of six campaigns and six
newsletters, within ten minutes or over the day:

    strangers    accounts made last week
    idle         bought 60 days ago, and never did anything
    clicked      the same, each with one complaint of anything
    patient      bought 60 days ago; since the first day each complains of one real campaign of spam
                 in three

Believed is what of theirs counts when the day is over.  Spam passes where the pardons of the
campaign that count outweigh its complaints; a newsletter is outweighed where its complaints are ten
or more, and outweigh its pardons: what becomes of it then is for counters and policy to say, which
know its past.  The rules are the real ones, the rest is `tests/feedback/antifraud/site.py`.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path
from typing import Final, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))  # tests has the made-up site

from oborona.feedback.antifraud.standing import DAY_S
from oborona.feedback.events.model import EventChannel, EventKind
from oborona.types import Action
from tests.feedback.antifraud.site import Message, Person, Site

PEOPLE: Final = 1000
REACHED: Final = 200  # people, by a campaign
SPEAK: Final = 0.05  # of them
SLIPS: Final = 0.02  # of those
SPAM: Final = 10  # campaigns a day
NEWS: Final = 6
TRAPPED: Final = 0.2
TARGETS: Final = 6  # campaigns that robots speak of
SHARES: Final = (0.01, 0.05, 0.2)  # robots, of all accounts
KINDS: Final = ("strangers", "idle", "clicked", "patient")
START: Final = 1_780_012_800.0  # midnight UTC


class Deed(NamedTuple):
    """One event to come."""

    time: float
    what: EventKind
    message: Message
    person: str
    way: EventChannel = EventChannel.SIEVE


class Result(NamedTuple):
    """What became of the robots' day, and of what people said on all days."""

    pardons: float  # share of robots' pardons of spam that count
    passed: int  # campaigns of spam whose pardons outweigh
    complaints: float  # share of robots' complaints of newsletters that count
    outweighed: int  # newsletters whose complaints outweigh
    honest: float  # share of people's words that count


def simulated(kind: str, share: float, *, slow: bool, days: int, seed: int) -> Result:
    """Return what becomes of a site with a share of robots."""
    chance, site = random.Random(seed), Site(look_s=20.0)  # noqa: S311 - a simulation
    people = [f"person{number}" for number in range(PEOPLE)]
    robots = [f"robot{number}" for number in range(round(PEOPLE * share / (1 - share)))]
    for name in people:
        if chance.random() < 0.7:
            site.people[name] = Person(
                first=START - chance.uniform(30, 400) * DAY_S, complaints=int(chance.random() < 0.3)
            )
    if kind != "strangers":
        for name in robots:
            site.people[name] = Person(first=START - 60 * DAY_S, complaints=int(kind == "clicked"))
    deeds: list[Deed] = []
    for day in range(days):
        deeds += _ordinary(
            day, chance, people, robots if kind == "patient" and day < days - 1 else []
        )
    last = days - 1
    for number in range(TARGETS):
        for what, target, verdict in (
            (EventKind.PARDON, f"spam {last} {number}", Action.SPAM),
            (EventKind.COMPLAINT, f"news {last} {number}", Action.ACCEPT),
        ):
            deeds += _robots(what, target, verdict, last, chance, robots, slow=slow)
    for deed in sorted(deeds):
        site.hear(deed.what, deed.message, deed.time, deed.person, deed.way)
    for number in range(TARGETS):
        for name in (f"spam {last} {number}", f"news {last} {number}"):
            site.look_again(name, START + days * DAY_S - 1)
    return _result(site, last)


def _ordinary(day: int, chance: random.Random, people: list[str], robots: list[str]) -> list[Deed]:
    """Return what people do on a day, and robots that want to be trusted."""
    found: list[Deed] = []
    for number in range(SPAM):
        name, begin = f"spam {day} {number}", START + day * DAY_S + chance.uniform(0, 0.5) * DAY_S
        for person in chance.sample(people, REACHED):
            if chance.random() < SPEAK:
                what = EventKind.PARDON if chance.random() < SLIPS else EventKind.COMPLAINT
                when = begin + chance.expovariate(1 / 3600)
                found.append(Deed(when, what, _message(name, person, Action.ACCEPT, begin), person))
        for person in robots:
            if chance.random() < 1 / 3:
                when = begin + chance.expovariate(1 / 3600)
                found.append(
                    Deed(
                        when,
                        EventKind.COMPLAINT,
                        _message(name, person, Action.ACCEPT, begin),
                        person,
                    )
                )
        if chance.random() < TRAPPED and number >= TARGETS:
            found.append(
                Deed(
                    begin + 7200,
                    EventKind.TRAP,
                    _message(name, "", Action.ACCEPT, begin),
                    "",
                    EventChannel.TRAP,
                )
            )
    for number in range(NEWS):
        name, begin = f"news {day} {number}", START + day * DAY_S
        for person in chance.sample(people, REACHED):
            if chance.random() < SPEAK:
                what = EventKind.COMPLAINT if chance.random() < SLIPS else EventKind.PARDON
                when = begin + chance.uniform(0.1, 0.95) * DAY_S
                found.append(Deed(when, what, _message(name, person, Action.SPAM, begin), person))
    return found


def _robots(
    what: EventKind,
    campaign: str,
    verdict: Action,
    day: int,
    chance: random.Random,
    robots: list[str],
    *,
    slow: bool,
) -> list[Deed]:
    begin = START + (day + (0.02 if slow else 0.6)) * DAY_S
    span = 0.95 * DAY_S if slow else 600.0
    return [
        Deed(begin + chance.uniform(0, span), what, _message(campaign, one, verdict, begin), one)
        for one in robots
    ]


def _message(campaign: str, person: str, verdict: Action, delivered: float) -> Message:
    return Message(
        campaign=campaign, name=f"{campaign} {person}", verdict=verdict, delivered=delivered
    )


def _result(site: Site, last: int) -> Result:
    names = [(f"spam {last} {number}", f"news {last} {number}") for number in range(TARGETS)]

    def weight(campaign: str, what: EventKind) -> float:
        return sum(
            one.belief.weight
            for one in site.events
            if one.believed and one.what is what and one.message.campaign == campaign
        )

    def counted(what: EventKind) -> float:
        said = [one for one in site.events if one.person.startswith("robot") and one.what is what]
        wanted = [
            one for one in said if one.message.campaign in {name for pair in names for name in pair}
        ]
        return sum(one.believed for one in wanted) / max(1, len(wanted))

    people = [one for one in site.events if one.person.startswith("person")]
    return Result(
        pardons=counted(EventKind.PARDON),
        passed=sum(
            weight(spam, EventKind.PARDON) > weight(spam, EventKind.COMPLAINT) for spam, _ in names
        ),
        complaints=counted(EventKind.COMPLAINT),
        outweighed=sum(
            site.believed(news, EventKind.COMPLAINT) >= 10
            and weight(news, EventKind.COMPLAINT) > weight(news, EventKind.PARDON)
            for _, news in names
        ),
        honest=sum(one.believed for one in people) / len(people),
    )


def main() -> None:
    """Print a row for each kind of robots, and each share of them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--days",
        type=int,
        default=10,
        help="until they speak; patient ones are trusted from then on",
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--shares", nargs="+", type=float, default=SHARES)
    asked = parser.parse_args()
    print(
        "| robots | speak | of all accounts | their pardons believed | spam that passes | "
        "their complaints believed | newsletters outweighed | people believed |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for kind in asked.kinds:
        for slow in (False, True):
            for share in asked.shares:
                found = simulated(kind, share, slow=slow, days=asked.days, seed=asked.seed)
                print(
                    f"| {kind} | {'over the day' if slow else 'in ten minutes'} | {share:.0%} | "
                    f"{found.pardons:.1%} | {found.passed} of {TARGETS}"
                    f" | {found.complaints:.1%} | {found.outweighed} of {TARGETS} | "
                    f"{found.honest:.1%} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
