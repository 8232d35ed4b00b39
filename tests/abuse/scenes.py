"""What somebody who wants to harm others would do, as scenes: each returns what became of the
others' mail.

All numbers of attackers are arguments: tests hold each scene to its bound for a few, `make abuse`
prints it for many.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from tests.abuse.attacked import HERE, TRAPS, Answer, Attacked
from tests.feedback.processing.scene import DAY

RELAY: Final = "198.51.100.25"  # that many share
RIVAL: Final = "203.0.113.10"
NEWS: Final = (
    "Dear customers, our garden shop opens its spring sale on Saturday with roses, tulips and "
    "lavender, tools for the vegetable bed,"
    " and a talk by the head gardener about pruning old apple trees; coffee and cake are served "
    "in the greenhouse all day"
)


class Harm(NamedTuple):
    """What the others lost."""

    sent: int  # messages of others, after the attack
    refused: int  # 554 at connect, or 550
    filed: int  # in the spam folder

    @property
    def lost(self) -> int:
        """Both."""
        return self.refused + self.filed


def harm(answers: Sequence[Answer]) -> Harm:
    """Return what became of messages."""
    words = [one.word for one in answers]
    return Harm(len(words), sum(word in ("refused", "550") for word in words), words.count("junk"))


def letter(number: int) -> str:
    """Return a text like no other."""
    return " ".join(f"w{(number * 7919 + place * 104729) % 99991}x{number}" for place in range(24))


def relayed(site: Attacked, number: int, *, users: int = 60) -> Answer:
    """Send a good message of one of a relay's users to a reader."""
    author = f"u{number % users}@relay.example"
    return site.mail(RELAY, author, f"reader{number % 97}@{HERE}", letter(number), proved=True)


def relay(
    site: Attacked,
    *,
    accounts: int,
    each: int,
    aged: bool,
    mails: int = 300,
    past: bool = False,
    users: int = 60,
) -> Harm:
    """Accounts here send themselves mail through a relay, where accounts are free, and complain of
    all of it.

    Args:
        site: that is attacked.
        accounts: of the attacker, at the site.
        each: messages that each sends itself.
        aged: the accounts are 60 days old.
        mails: good messages of the relay's users today.
        past: as many came yesterday.
        users: of the relay.
    """
    if past:
        site.now -= 1.5 * DAY
        for number in range(mails):
            relayed(site, number, users=users)
        site.now += 1.5 * DAY
    for number in range(mails):
        relayed(site, number, users=users)
    people = [f"mallory{number}@{HERE}" for number in range(accounts)]
    if aged:
        for one in people:
            site.ages(one)
    for round_ in range(each):
        for place, one in enumerate(people):
            own = site.mail(
                RELAY,
                f"m{place}@relay.example",
                one,
                letter(10_000 + 100 * round_ + place),
                proved=True,
            )
            if own.ident:
                site.complains(one, own)
    return harm([relayed(site, 20_000 + number, users=users) for number in range(users)])


def relay_to_traps(
    site: Attacked, *, traps: int, each: int, mails: int = 300, past: bool = False, users: int = 60
) -> Harm:
    """Somebody writes to traps through a relay."""
    if past:
        site.now -= 1.5 * DAY
        for number in range(mails):
            relayed(site, number, users=users)
        site.now += 1.5 * DAY
    for number in range(mails):
        relayed(site, number, users=users)
    for round_ in range(each):
        for place in range(traps):
            site.mail(
                RELAY,
                "m@relay.example",
                f"t{place}@{TRAPS}",
                letter(30_000 + 100 * round_ + place),
                proved=True,
            )
    return harm([relayed(site, 20_000 + number, users=users) for number in range(users)])


def newsletter_to_traps(
    site: Attacked, *, traps: int, networks: int, proved: bool, mailing: int = 10
) -> tuple[Harm, list[Answer]]:
    """Copies of a rival's newsletter are sent to traps, from other networks.

    Then the rival's own next mailing comes.

    Args:
        site: that is attacked.
        traps: that the attacker knows; each gets one copy from each network.
        networks: of the attacker.
        proved: the rival has SPF and DMARC.
        mailing: messages of the rival's next one.
    """
    link = "https://rival.example/spring"
    rival(site, 0, proved=proved)
    for network in range(networks):
        for trap in range(traps):
            site.mail(
                f"192.0.2.{network}" if networks == 1 else f"100.{64 + network}.0.1",
                f"m{network}@m{network}.example",
                f"t{trap}@{TRAPS}",
                NEWS,
                author="news@rival.example",
                link=link,
            )
    answers = [rival(site, 1 + number, proved=proved) for number in range(mailing)]
    return harm(answers), answers


def rival(site: Attacked, number: int, *, proved: bool, text: str = NEWS) -> Answer:
    """Send the rival's newsletter from its own server."""
    return site.mail(
        RIVAL,
        "news@rival.example",
        f"reader{number}@{HERE}",
        text,
        proved=proved,
        link="https://rival.example/spring",
    )


def newsletter_flooded(
    site: Attacked,
    *,
    clients: Sequence[str],
    proved: bool,
    forgers_proved: bool = False,
    mailing: int = 10,
) -> Harm:
    """Copies of a rival's newsletter come from elsewhere under other names.

    Then the rival's own next mailing comes.
    """
    rival(site, 0, proved=proved)
    for place, ip in enumerate(clients):
        site.mail(ip, f"x{place}@x{place}.example", f"mallory@{HERE}", NEWS, proved=forgers_proved)
    return harm([rival(site, 1 + number, proved=proved) for number in range(mailing)])


class Spammed(NamedTuple):
    """What became of a real campaign."""

    sent: int
    inbox: int
    complained: int  # people who did, until it was stopped
    stopped: int  # message at which it was refused at connect for the first time; 0 = never


def spammed(site: Attacked, *, mails: int, complains: float, ip: str = "198.51.100.200") -> Spammed:
    """A spammer that no rule sees sends a text of its own to each of many people, of whom some
    complain at once.
    """
    said = inbox = stopped = 0
    every = max(1, round(1 / complains))
    for number in range(mails):
        person = f"person{number}@{HERE}"
        answer = site.mail(
            ip, f"s{number}@spam{number % 5}.example", person, letter(50_000 + number), proved=True
        )
        inbox += answer.passed
        if answer.word == "refused" and not stopped:
            stopped = number + 1
        if answer.passed and number % every == 0:
            said += 1
            site.complains(site.ages(person), answer)
    return Spammed(mails, inbox, said, stopped)


def told(site: Attacked, candidate: str, tries: int = 1) -> list[dict[str, str]]:
    """Return the headers that somebody finds in the own copies of messages that went to a
    candidate, too.
    """
    found = []
    for number in range(tries):
        answer = site.mail(
            "192.0.2.77",
            "probe@probe.example",
            (f"mallory@{HERE}", candidate),
            letter(70_000 + number),
        )
        found.append({name: value for name, value in answer.headers.items() if name != "X-Mras-Id"})
        after = site.mail(
            "192.0.2.77", "probe@probe.example", f"mallory@{HERE}", letter(70_000 + number)
        )
        found.append({name: value for name, value in after.headers.items() if name != "X-Mras-Id"})
    return found
