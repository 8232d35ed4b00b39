"""Campaigns of several kinds, each of many copies from many clients and senders: of few words and
of many, in two scripts, and of texts that have nothing in common but a link, a contact address, a
telephone number or a wallet.

By `Senders`, each copy is unproved, proved by a domain of its own, or of a provider's mailboxes.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from typing import Final

from oborona.authentication.model import AuthIdentity
from tests.letters import DOMAIN, NAMES, Kind
from tests.posted import UNPROVED, PostedLetter, plain_letter, proved

START: Final = 1_800_000_000.0
COPIES: Final = 300
CLIENTS: Final = 200
DOMAINS: Final = 60  # of proved senders
CHANGED: Final = 0.3  # of the words, in each copy
_LATIN: Final = "abcdefghijklmnoprstuvwyz"
_CYRILLIC: Final = "абвгдежзиклмнопрстуфхцчшыья"
_PHONE: Final = "+44 20 7946 0958"
_WALLET: Final = "1BoatSLRHtKNngkdXEeobR76b53LETtpyT"
_WORDS: Final = 4000  # of a language


class Senders(StrEnum):
    """Who sends the copies."""

    UNPROVED = "unproved"  # any name in From, stolen machines, each in a network of its own
    PROVED = "proved"  # by SPF and DKIM of one of `DOMAINS` domains
    FREEMAIL = "freemail"  # mailboxes at one provider, from few networks of his
    TENANTS = "tenants"  # as PROVED, from few networks of a provider of mailboxes


class CampaignKind(StrEnum):
    """What the copies have in common."""

    SHORT = "10 words"
    MIDDLE = "20 words"
    LONG = "120 words"
    CYRILLIC_SHORT = "10 words, Cyrillic"
    CYRILLIC = "60 words, Cyrillic"
    LINK = "one link"
    CONTACTS = "three addresses"
    PHONE = "one telephone"
    WALLET = "one wallet"


NETWORKS: Final = 4  # of a provider
PROVIDERS: Final = {
    Senders.FREEMAIL: "google.com",
    Senders.TENANTS: "outbound.protection.outlook.com",
}
_LENGTHS: Final = {
    CampaignKind.SHORT: 10,
    CampaignKind.MIDDLE: 20,
    CampaignKind.LONG: 120,
    CampaignKind.CYRILLIC_SHORT: 10,
    CampaignKind.CYRILLIC: 60,
}


def campaign_of(
    kind: CampaignKind,
    senders: Senders,
    *,
    seed: int,
    copies: int = COPIES,
    gap_s: float = 1.0,
) -> list[PostedLetter]:
    """Return the copies of a campaign, in order of time.

    Args:
        kind: what they have in common.
        senders: who sends them.
        seed: which campaign.
        copies: how many.
        gap_s: seconds from one to the next.
    """
    chance = random.Random(f"{kind} {senders} {seed}")
    body, domains = _bodies(kind, chance), [_domain(chance) for _ in range(DOMAINS)]
    posted = []
    for place in range(copies):
        address, client_ip, client_name, identity = _sender(senders, place, domains, chance)
        name, number = chance.choice(NAMES), chance.randrange(10**6)
        domain = address.partition("@")[2]
        letter = plain_letter(
            kind=Kind.CAMPAIGN,
            author=f"{name} <{address}>",
            sender=address,
            recipient=f"reader{place:04}@{DOMAIN}",
            subject=body.subject(),
            message_id=f"{number}.{place}@{domain}",
            text=f"{body.text()}\n",
            client_ip=client_ip,
            helo=f"mail.{domain}",
        )
        posted.append(
            PostedLetter(
                letter=letter,
                at=START + place * gap_s,
                kind=f"{kind}, {senders}",
                identity=identity,
                client_name=client_name,
            )
        )
    return posted


def people_of(senders: Senders, *, seed: int, number: int = 90) -> list[PostedLetter]:
    """Return letters of other people, an hour before, from the networks that a campaign comes from:
    a provider's; of a campaign that comes from no provider, none.

    Args:
        senders: of the campaign.
        seed: which letters.
        number: how many.
    """
    if senders not in PROVIDERS:
        return []
    chance = random.Random(f"people {senders} {seed}")
    posted = []
    for place in range(number):
        post = campaign_of(
            CampaignKind.LINK, senders, seed=chance.randrange(10**9), copies=1, gap_s=0
        )[0]
        letter = replace(post.letter, client_ip=f"198.18.{place % 2}.{place + 1}", kind=Kind.HAM)
        posted.append(replace(post, letter=letter, at=START - 3600 + place, kind="people"))
    return posted


def _sender(
    senders: Senders, place: int, domains: list[str], chance: random.Random
) -> tuple[str, str, str, AuthIdentity]:
    """Return who sends a copy, from which address and host, and what is proved of it."""
    name, client = f"{chance.choice(NAMES).lower()}{chance.randrange(10**4)}", place % CLIENTS
    if senders is Senders.UNPROVED:
        return f"{name}@{_domain(chance)}", f"198.18.{client}.1", "", UNPROVED
    domain = "gmail.com" if senders is Senders.FREEMAIL else domains[place % DOMAINS]
    identity = proved(domain, sender=domain, signer=domain)
    if senders is Senders.PROVED:
        return f"{name}@{domain}", f"198.18.{client}.1", f"mx{client}.{domain}", identity
    ip = f"198.18.{client % NETWORKS}.{client + 1}"
    return f"{name}@{domain}", ip, f"mail-{client}.{PROVIDERS[senders]}", identity


class _Bodies:
    """Draws the texts of a campaign's copies.

    Args:
        chance: draws.
        letters: of the language.
        text: words that copies have in common; empty = each has its own.
        tail: draws what is told at the end.
    """

    def __init__(
        self, chance: random.Random, letters: str, text: int, tail: Callable[[], str]
    ) -> None:
        self._chance, self._tail = chance, tail
        self._language = [
            "".join(chance.choices(letters, k=chance.randint(3, 9))) for _ in range(_WORDS)
        ]
        self._common = chance.choices(self._language, k=text)
        self._others = {word: chance.choices(self._language, k=4) for word in self._common}

    def subject(self) -> str:
        """Return a subject that no other copy has."""
        return " ".join(self._chance.choices(self._language, k=3)).capitalize()

    def text(self) -> str:
        """Return the text of one more copy."""
        chance = self._chance
        words = [
            chance.choice(self._others[word]) if chance.random() < CHANGED else word
            for word in self._common
        ] or chance.choices(self._language, k=chance.randint(30, 90))
        return f"{' '.join(words).capitalize()}.\n{self._tail()}"


def _bodies(kind: CampaignKind, chance: random.Random) -> _Bodies:
    letters = _CYRILLIC if kind in (CampaignKind.CYRILLIC, CampaignKind.CYRILLIC_SHORT) else _LATIN
    host, mailboxes = _domain(chance), [f"office{n}@{_domain(chance)}" for n in range(3)]

    def own_link() -> str:
        return f"http://{_domain(chance)}/{chance.getrandbits(40):x}"

    tails: dict[CampaignKind, Callable[[], str]] = {
        CampaignKind.LINK: lambda: f"http://{host}/{chance.getrandbits(40):x}",
        CampaignKind.CONTACTS: lambda: chance.choice(mailboxes),
        CampaignKind.PHONE: lambda: _PHONE,
        CampaignKind.WALLET: lambda: _WALLET,
    }
    return _Bodies(chance, letters, _LENGTHS.get(kind, 0), tails.get(kind, own_link))


def _domain(chance: random.Random) -> str:
    return f"{''.join(chance.choices(_LATIN, k=8))}{chance.randrange(100)}.com"
