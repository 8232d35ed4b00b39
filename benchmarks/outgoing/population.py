"""The accounts of the site: who they are, how they came to be, and what each sends."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Final

import msgspec

from benchmarks.outgoing.letter import DAY_S, HOUR_S, Letter, Origin, Sender, some_address
from benchmarks.outgoing.respectable import (
    ABROAD,
    HOME,
    Places,
    journeys,
    list_mail,
    mailings,
    monitor_mail,
    newsletter_mail,
    people_mail,
    ticket_mail,
    together,
)
from benchmarks.outgoing.spammers import WARM_DAYS, campaign, campaign_mail, warming_mail
from benchmarks.outgoing.world import DAYS, LEARNING, World
from oborona.accounts.account import AccountRecord, Customer, Registration

RESPECTABLE: Final = 1000
LARGEST: Final = 30  # accounts of a customer
_DIALS: Final = {"DE": "+49 30 901820", "FR": "+33 1 42 68 53 00", "US": "+1 202 555 0101"}
_MAILS: Final = ("gmail.com", "web.de", "example.org", "posteo.de")


class Population(msgspec.Struct, kw_only=True):
    """Who sends from the site.

    Attributes:
        records: of all accounts, by login.
        senders: of all mail.
        spammers: who sends spam by an account, and from when on: of a stolen one the owner's mail
            goes on.
    """

    records: dict[str, AccountRecord] = msgspec.field(default_factory=dict)
    senders: list[Sender] = msgspec.field(default_factory=list)
    spammers: dict[str, Sender] = msgspec.field(default_factory=dict)


class _Builder:
    """Draws the population of a seed.

    Args:
        world: its numbers.
        seed: the same one gives the same.
        start: Unix seconds of the first midnight.
    """

    def __init__(self, world: World, seed: int, start: float) -> None:
        self.world, self.seed, self.start = world, seed, start
        self.rng = Random(f"accounts {seed}")  # noqa: S311 - no secret
        self.found = Population()
        self.ordinary: list[str] = []
        self._customer, self._left = 0, 0
        self._office = ""

    def own(self, name: str) -> Random:
        """Return the chance of one sender, whoever else there is."""
        return Random(f"{self.seed} {name}")  # noqa: S311 - no secret

    def account(
        self, login: str, *, customer: str, made: float, spammer: bool = False, where: str = ""
    ) -> None:
        """Write down an account, made at seconds from the first midnight."""
        at = self.start + made
        self.found.records[login] = AccountRecord(
            id=login,
            logins=(login,),
            customer=Customer(id=customer, contact=f"owner@{customer}.example"),
            since=at,
            registration=registration(self.rng, at, where, spammer=spammer),
        )

    def firm(self) -> tuple[str, str]:
        """Return the customer and the office of the next account."""
        if not self._left:
            self._customer += 1
            self._left = min(LARGEST, int(self.rng.paretovariate(0.9)))
            self._office = some_address(self.rng)
        self._left -= 1
        return f"c{self._customer}", self._office

    def send(self, login: str, kind: str, letters: Iterator[Letter]) -> None:
        """Have an account send."""
        self.found.senders.append(Sender(name=login, kind=kind, spam=False, letters=letters))

    def old(self, login: str, *, university: bool = False) -> Places:
        """Make an account of long ago, and return its places."""
        customer, office = ("university", "192.0.2.80") if university else self.firm()
        self.account(login, customer=customer, made=-self.rng.uniform(60, 2000) * DAY_S)
        return Places(self.own(f"{login} places"), office)

    def respectable(self) -> None:
        """Make all who send what is wanted."""
        world = self.world
        for number in range(world.newsletters):
            login = f"news{number}@mail.example"
            self.old(login)
            self.send(login, "newsletter", newsletter_mail(world, self.own(login), login, number))
        for number in range(world.tickets):
            login = f"desk{number}@mail.example"
            self.old(login)
            self.send(login, "tickets", ticket_mail(world, self.own(login), login))
        for number in range(world.lists):
            login = f"list{number}@uni.example"
            self.old(login, university=True)
            self.send(login, "list", list_mail(self.own(login), login))
        for number in range(world.monitors):
            login = f"watch{number}@mail.example"
            self.old(login)
            self.send(login, "monitor", monitor_mail(self.own(login), login))
        rest = RESPECTABLE - len(self.found.records)
        for number in range(rest):
            self.person(number)

    def person(self, number: int) -> None:
        """Make a person, by number of what sort."""
        world, login = self.world, f"u{number}@mail.example"
        rng = self.own(login)
        if number < world.newcomers:
            self.newcomer(login, rng, mails=number < world.beginners)
            return
        number -= world.newcomers
        if number < world.travellers:
            customer, office = self.firm()
            self.account(login, customer=customer, made=-self.rng.uniform(60, 2000) * DAY_S)
            places = Places(rng, office, journeys(rng), tunnel=rng.random() < 0.1)
            self.send(login, "traveller", people_mail(world, rng, login, places))
            return
        number -= world.travellers
        places = self.old(login, university=number >= world.mailings and number < world.staff)
        streams = [people_mail(world, rng, login, places)]
        kind = "person"
        if number < world.mailings:
            kind, times = "mailing", rng.randrange(1, 3)
            streams += mailings(rng, login, places, range(LEARNING, DAYS), range(100, 601), times)
        elif rng.random() < world.invitations:
            streams += mailings(rng, login, places, range(LEARNING, DAYS), range(15, 61), 1)
        if kind == "person":
            self.ordinary.append(login)
        self.send(login, kind, together(*streams))

    def newcomer(self, login: str, rng: Random, *, mails: bool) -> None:
        """Make an account of within the month."""
        day, (customer, office) = rng.randrange(LEARNING, DAYS - 1), self.firm()
        made = day * DAY_S + rng.uniform(8, 18) * HOUR_S
        self.account(login, customer=customer, made=made)
        places = Places(rng, office)
        streams = [people_mail(self.world, rng, login, places, day + 1)]
        if mails:
            days = range(day + 1, min(DAYS, day + 3))
            streams += mailings(rng, login, places, days, range(50, 401), 1)
        self.send(login, "beginner" if mails else "newcomer", together(*streams))

    def spammer(self, name: str, kind: str, letters: Iterator[Letter], *logins: str) -> None:
        """Have somebody send spam by some accounts."""
        sender = Sender(name=name, kind=kind, spam=True, letters=letters)
        self.found.senders.append(sender)
        self.found.spammers.update(dict.fromkeys(logins, sender))

    def bad(self) -> None:
        """Make all who send spam."""
        world = self.world
        for number, login in enumerate(self.rng.sample(self.ordinary, world.stolen)):
            self.stolen(f"stolen{number}", login)
        for number in range(world.new):
            self.new(f"new{number}")
        for number in range(world.warmed):
            self.warmed(f"warmed{number}")
        for number in range(world.split):
            self.split(f"split{number}")

    def stolen(self, name: str, login: str) -> None:
        """Have somebody send by the password of an account that is there."""
        rng = self.own(name)
        begin = rng.uniform(LEARNING, DAYS - 1) * DAY_S
        plan = campaign(self.world, rng, name, at_home=False)
        self.spammer(name, "stolen", campaign_mail(plan, rng, (login,), begin), login)

    def new(self, name: str) -> None:
        """Have somebody send by an account made for it, hours to two days before."""
        rng, login = self.own(name), f"{name}@mail.example"
        made = rng.uniform(LEARNING, DAYS - 3) * DAY_S
        self.account(login, customer=name, made=made, spammer=True)
        plan = campaign(self.world, rng, name, at_home=rng.random() < 0.5)
        begin = made + rng.uniform(0.2, 48) * HOUR_S
        self.spammer(name, "new", campaign_mail(plan, rng, (login,), begin), login)

    def warmed(self, name: str) -> None:
        """Have somebody send by an account that wrote as a person for three weeks."""
        rng, login = self.own(name), f"{name}@mail.example"
        day = rng.randrange(DAYS - WARM_DAYS - 2)
        where = Origin(some_address(rng), rng.choice((HOME, *ABROAD)))
        self.account(login, customer=name, made=(day - 0.1) * DAY_S, spammer=True)
        warm = warming_mail(rng, login, day, where)
        self.found.senders.append(
            Sender(name=f"{name} warming", kind="warming", spam=False, letters=warm)
        )
        plan = campaign(self.world, rng, name, at_home=True)._replace(origins=(where,))
        begin = (day + WARM_DAYS + rng.random()) * DAY_S
        self.spammer(name, "warmed", campaign_mail(plan, rng, (login,), begin), login)

    def split(self, name: str) -> None:
        """Have a customer send by many accounts, made one after the other."""
        rng = self.own(name)
        made = rng.uniform(LEARNING, DAYS - 4) * DAY_S
        logins = tuple(f"{name}-{each}@mail.example" for each in range(self.world.split_over))
        where = some_address(rng)
        for place, login in enumerate(logins):
            at = made + place * 300.0
            self.account(login, customer=name, made=at, spammer=True, where=where)
        plan = campaign(self.world, rng, name, at_home=rng.random() < 0.5)
        begin = made + rng.uniform(3, 48) * HOUR_S
        self.spammer(name, "split", campaign_mail(plan, rng, logins, begin), *logins)


def population(world: World, seed: int, start: float) -> Population:
    """Return the accounts of a seed, and what they send.

    Args:
        world: its numbers.
        seed: the same one gives the same.
        start: Unix seconds of the first midnight.
    """
    builder = _Builder(world, seed, start)
    builder.respectable()
    builder.bad()
    return builder.found


def registration(rng: Random, at: float, where: str, *, spammer: bool) -> Registration:
    """Return how an account came to be: all shares are guesses.

    Of respectable people 3 in 1,000 have a throw-away address, 4 in 100 a telephone and 3 in 100 a
    card of another country, a quarter pays by what everybody may have; of spammers each is true of
    four in ten.
    """

    def true(share: float) -> bool:
        return rng.random() < (0.4 if spammer else share)

    return Registration(
        time=at,
        address=where or some_address(rng),
        country=HOME,
        mail="joe@mailinator.com" if true(0.003) else f"joe@{rng.choice(_MAILS)}",
        phone=_DIALS[rng.choice(("FR", "US")) if true(0.04) else HOME],
        user_name="joe",
        payment=rng.choice(("virtual card", "gift card", "paypal")) if true(0.25) else "card",
        payment_country=rng.choice(ABROAD) if true(0.03) else HOME,
        source="shop",
    )
