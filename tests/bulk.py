"""Legitimate bulk mail as it comes to a site: shops that share a mailer, a series of newsletters, a
school that signs nothing, a list, notices of a network of people, codes, and letters that programs
of many hosts write in the same words.

Who signs and from which addresses it comes is as in life: mailers sign for their shops and send
from pools, MAIL FROM is the mailer's own domain or one below the shop's.  Names and texts are drawn
by a seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import count

from oborona.authentication.model import AuthIdentity
from tests.bulk_texts import (
    CODE,
    GOODS,
    LIST_FOOTER,
    MONTHLY,
    NEWSLETTER,
    NOTICE,
    ORDER,
    PROPER,
    RECEIPT,
    RECEIVED,
    RESET,
    SCHOOL,
    SHIPPED,
    TOPICS,
)
from tests.letters import DOMAIN, NAMES, Kind, varied
from tests.posted import UNPROVED, PostedLetter, plain_letter, proved

_Draw = Callable[[random.Random, int], PostedLetter]


def bulk(number: int, *, seed: int, start: float, span_s: float) -> list[PostedLetter]:
    """Return legitimate bulk letters of all kinds, mixed, in order of time.

    Args:
        number: how many.
        seed: which.
        start: Unix seconds of the first.
        span_s: seconds from the first to the last.
    """
    chance = random.Random(seed)
    kinds: tuple[tuple[str, int, _Draw], ...] = (
        ("orders, shops of one mailer", 22, _of_mailer(1, ORDER, "Order {number} confirmed", 8)),
        ("orders, each shop its own MAIL FROM", 10, _of_mailer(2, RECEIVED, "Order {number}", 40, own=True)),
        ("newsletters", 25, _of_mailer(3, NEWSLETTER, "New in {topic}", 6, issues=3, listed=True)),
        ("newsletters, own MAIL FROM", 10, _of_mailer(4, MONTHLY, "{topic} news", 12, own=True, listed=True)),
        ("parcels", 8, _of_mailer(5, SHIPPED, "Your parcel {number}", 2)),
        ("school", 8, _school),
        ("list", 8, _list()),
        ("notices", 5, _notice),
        ("codes", 3, _of_mailer(6, CODE, "Your code", 12, own=True, pool=12)),
        ("resets", 1, _of_host(RESET, "[{shop}] Password Reset")),
        ("receipts of a plug-in", 1, _of_host(RECEIPT, "Your {shop} order has been received")),
    )  # fmt: skip
    draws = chance.choices(kinds, weights=[weight for _, weight, _ in kinds], k=number)
    posted = []
    for place, (kind, _, draw) in enumerate(draws):
        post = draw(chance, place)
        at = start + place * span_s / max(1, number)
        posted.append(replace(post, at=at, kind=kind))
    return posted


def _of_mailer(
    serial: int,
    text: str,
    subject: str,
    shops: int,
    *,
    own: bool = False,
    issues: int = 0,
    listed: bool = False,
    pool: int = 4,
) -> _Draw:
    """Return what draws a letter of a shop by a mailer, which signs for it.

    Args:
        serial: of the mailer.
        text: with choices.
        subject: of it.
        shops: of this mailer.
        own: MAIL FROM is below the shop's own domain, else the mailer's.
        issues: texts that are told apart within a shop; 0 = all are filled in anew.
        listed: it has List-Unsubscribe.
        pool: networks of the mailer, from 12 addresses each.
    """
    mailer = f"send{serial}.example"
    domains = [f"{PROPER[n % 20]}-{PROPER[(7 * n + serial) % 20]}{n}.example" for n in range(shops)]

    def draw(chance: random.Random, place: int) -> PostedLetter:
        shop = chance.choice(domains)
        choices = random.Random(f"{shop} {chance.randrange(issues)}") if issues else chance
        values = _values(chance, shop, choices, f"click.{mailer}" if listed else shop)
        below = f"bounce.{shop}" if own else mailer
        sender = f"b+{chance.getrandbits(40):x}@{below}"
        ip = f"203.{20 * serial + place % pool}.113.{chance.randrange(12) + 10}"
        extra = f"List-Unsubscribe: <https://{mailer}/u/{place}>\n" if listed else ""
        return _posted(
            chance, f"hello@{shop}", sender, ip, subject, text, values, extra,
            proved(shop, sender=below, signer=shop), name=f"o{place % 40}.{mailer}",
        )  # fmt: skip

    return draw


def _school(chance: random.Random, place: int) -> PostedLetter:
    values = _values(chance, "school.example", random.Random(1), "school.example")
    return _posted(
        chance, "office@school.example", "office@school.example", "203.0.113.5",
        "Summer party", SCHOOL, values, "", UNPROVED,
    )  # fmt: skip


def _list() -> _Draw:
    """Return what draws the copies of posts to a list: of each twenty, in order."""
    posts = count()

    def draw(chance: random.Random, place: int) -> PostedLetter:
        post = random.Random(next(posts) // 20)
        text = " ".join(post.choices((*PROPER, *GOODS, *TOPICS), k=60)) + "\n" + LIST_FOOTER
        values = _values(chance, "uni.example", post, "lists.uni.example")
        author = f"{values['name'].lower()}@dept{post.randrange(4)}.uni.example"
        return _posted(
            chance, author, f"staff-bounces+{place}@lists.uni.example", "203.0.113.77",
            "[staff] {topic}", text, values,
            "List-Id: <staff.lists.uni.example>\nList-Post: <mailto:staff@lists.uni.example>\n",
            proved(author.partition("@")[2], sender="lists.uni.example"),
        )  # fmt: skip

    return draw


def _notice(chance: random.Random, place: int) -> PostedLetter:
    values = _values(chance, "friendly.example", chance, "friendly.example")
    author = f"notice+{chance.getrandbits(32):x}@friendly.example"
    return _posted(
        chance, author, author, f"203.0.{114 + place % 3}.{place % 60}",
        "{name} commented", NOTICE, values, "",
        proved("friendly.example", sender="friendly.example", signer="friendly.example"),
    )  # fmt: skip


def _of_host(text: str, subject: str) -> _Draw:
    """Return what draws a letter that a program writes in the same words on one of five hosts."""

    def draw(chance: random.Random, place: int) -> PostedLetter:
        host = chance.randrange(5)
        site = f"blog{host}-{len(text)}.example"
        values = _values(chance, site, chance, site)
        return _posted(
            chance, f"wordpress@{site}", f"www-data@{site}", f"198.51.{host + 10 * (len(text) % 20)}.7",
            subject, text, values, "", proved(site, sender=site), name=site,
        )  # fmt: skip

    return draw


def _values(chance: random.Random, shop: str, choices: random.Random, link: str) -> dict[str, str]:
    return {
        "name": chance.choice(NAMES),
        "shop": shop,
        "link": link,
        "topic": choices.choice(TOPICS),
        "goods": choices.choice(GOODS),
        "goods2": choices.choice(GOODS),
        "goods3": choices.choice(GOODS),
        "number": str(chance.randrange(10**5, 10**6)),
        "count": str(chance.randrange(1, 5)),
        "price": f"{chance.randrange(9, 90)}.90",
        "token": f"{chance.getrandbits(48):x}",
    }


def _posted(
    chance: random.Random,
    author: str,
    sender: str,
    client_ip: str,
    subject: str,
    text: str,
    values: dict[str, str],
    extra: str,
    identity: AuthIdentity,
    name: str = "",
) -> PostedLetter:
    recipient = f"reader{chance.randrange(400)}@{DOMAIN}"
    domain = sender.partition("@")[2]
    letter = plain_letter(
        kind=Kind.HAM,
        author=author,
        sender=sender,
        recipient=recipient,
        subject=subject.format(**values),
        message_id=f"{chance.getrandbits(64):x}@{domain}",
        text=varied(text, chance).format(**values),
        client_ip=client_ip,
        helo=f"mta.{domain}",
        fields=extra,
    )
    return PostedLetter(letter=letter, at=0.0, kind="", identity=identity, client_name=name)
