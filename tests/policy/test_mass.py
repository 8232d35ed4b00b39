"""The policy that ships against mass mail: campaigns of one line and of one layout are seen, what
is alike by nature stays.
"""

from __future__ import annotations

import random
import string
import zlib
from collections.abc import Iterable
from pathlib import Path

import pytest

from oborona.counters.memory import MemoryCounters
from oborona.message.shingles import Hasher
from oborona.policy.accounting import record_verdict
from oborona.policy.evidence import NoInquiry
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import load_policy
from oborona.policy.local_clients import direction
from oborona.policy.scan import Scan, ScanSite, scan
from oborona.types import Action, Client, Envelope

POLICY = load_policy(Path(__file__).parents[2] / "etc/policy.d", SCHEMA)
NOW = 1_800_000_000.0
WORDS = [
    "amber",
    "birch",
    "cedar",
    "dahlia",
    "ebony",
    "fennel",
    "garlic",
    "hazel",
    "indigo",
    "jasmine",
    "kapok",
    "laurel",
    "myrtle",
    "nettle",
    "olive",
    "poppy",
    "quince",
    "rowan",
    "saffron",
    "tulip",
]


def written(body: str, *, sender: str, kind: str = "plain") -> bytes:
    return (
        f"From: {sender}\nTo: one@example.test\nSubject: {body[:20].title()}\nDate: Fri, 15 Jan "
        f"2027 08:00:00 +0000\n"
        f"Message-ID: <{zlib.crc32(body.encode())}@x.example>\nContent-Type: text/{kind}; "
        f"charset=utf-8\n\n{body}\n"
    ).encode()


async def judged(letters: Iterable[tuple[bytes, str, str]]) -> list[Scan]:
    """Return what was found of (message, sender, client) that came one a second."""
    counters = MemoryCounters()
    site = ScanSite(name="mx.example.test", hasher=Hasher(b"k" * 32), counters=counters)
    found = []
    for second, (raw, sender, ip) in enumerate(letters):
        envelope = Envelope(
            client=Client(ip=ip),
            helo="x.example",
            sender=sender,
            recipients=(f"u{second}@example.test",),
        )
        result = await scan(raw, envelope, site, POLICY, NoInquiry(), now=NOW + second)
        record_verdict(
            result.pieces,
            result.verdict,
            counters,
            now=NOW + second,
            prefix=direction(result.envelope),
        )
        found.append(result)
    return found


def rules(result: Scan) -> set[str]:
    return {hit.name for hit in result.verdict.rules}


async def test_a_line_that_is_dressed_anew_in_every_copy_is_filed() -> None:
    chance = random.Random(4)

    def dressed() -> str:
        line = "Cheap watches and good pills at half the price, order now at"
        words = [
            chance.choice((word, word.upper(), " ".join(word), word.replace("o", "0")))
            for word in line.split()
        ]
        return (
            f"{chance.choice(('Hi', 'Hello', 'Dear'))} {chance.choice(WORDS)}, "
            f"{' '.join(words)} http://{chance.randrange(10**9)}.example/"
        )

    senders = [f"{chance.choice(WORDS)}{number}@d{number}.example" for number in range(40)]
    found = await judged(
        (written(dressed(), sender=sender), sender, f"198.18.{number}.1")
        for number, sender in enumerate(senders)
    )
    filed = [result.verdict.action is not Action.ACCEPT for result in found]
    assert sum(filed[:20]) >= 10
    assert all(filed[20:])


async def test_short_letters_of_many_people_are_not() -> None:
    chance = random.Random(5)
    language = [
        "".join(chance.choices(string.ascii_lowercase, k=chance.randint(2, 8))) for _ in range(2000)
    ]
    senders = [f"{chance.choice(WORDS)}{number}@d{number}.example" for number in range(40)]
    found = await judged(
        (
            written(
                f"Thank you, {' '.join(chance.choices(language, k=15))}. See you soon",
                sender=sender,
            ),
            sender,
            f"198.18.{number}.1",
        )
        for number, sender in enumerate(senders)
    )
    assert not any(
        rules(result) & {"MASS_TEXT", "MASS_MANY_SENDERS", "MASS_EVERYWHERE"} for result in found
    )


def page(chance: random.Random) -> str:
    """Return a page of other words and links each time, and one layout."""
    rows = "".join(
        f"<tr><td class=item><a href='http://{chance.randrange(10**9)}.example/'><img "
        f"src='http://{chance.randrange(10**9)}.example/a.png'></a>"
        f"<h2>{' '.join(chance.sample(WORDS, 6))}</h2></td></tr>"
        for _ in range(5)
    )
    return f"<html><body><table>{rows}</table></body></html>"


async def test_a_layout_that_comes_from_everywhere_is_seen_whatever_its_words() -> None:
    chance = random.Random(6)
    senders = [f"{chance.choice(WORDS)}{number}@d{number}.example" for number in range(30)]
    found = await judged(
        (written(page(chance), sender=sender, kind="html"), sender, f"198.18.{number}.1")
        for number, sender in enumerate(senders)
    )
    assert all("MASS_LAYOUT" in rules(result) for result in found[15:])
    assert "MASS_TEXT" not in rules(found[-1])


async def test_the_layout_of_one_sender_or_of_one_network_is_not() -> None:
    chance = random.Random(7)
    one = "news@shop.example"
    found = await judged(
        (written(page(chance), sender=one, kind="html"), one, f"198.18.{number}.1")
        for number in range(30)
    )
    shops = [f"news@shop{number}.example" for number in range(30)]
    found += await judged(
        (written(page(chance), sender=shop, kind="html"), shop, f"198.18.1.{number}")
        for number, shop in enumerate(shops)
    )
    assert not any("MASS_LAYOUT" in rules(result) for result in found)


LENGTHS = {"of letters": 12, "of both": 36, "of words": 120}  # words of a text


@pytest.mark.parametrize("words", LENGTHS.values(), ids=LENGTHS)
@pytest.mark.parametrize("changed", [0.0, 0.1])
async def test_estimates_are_honest(words: int, changed: float) -> None:
    """N copies of a text, by so many addresses, senders and readers: no fact says more than there
    were, nor much less.

    Copies whose words were changed with a chance of a tenth; among as many letters of other people.
    """
    chance = random.Random(words)
    language = [
        "".join(chance.choices(string.ascii_lowercase, k=chance.randint(4, 8))) for _ in range(3000)
    ]
    text = chance.choices(language, k=words)
    copies, addresses, senders = 80, 25, 16
    letters: list[tuple[bytes, str, str]] = []
    for number in range(copies):
        copy = [chance.choice(language) if chance.random() < changed else word for word in text]
        sender = f"u{number % senders}@d{number % senders}.example"
        letters.append(
            (written(" ".join(copy), sender=sender), sender, f"198.18.{number % addresses}.1")
        )
        other = " ".join(chance.choices(language, k=words))
        letters.append(
            (written(other, sender=f"o{number}@o.example"), f"o{number}@o.example", "198.51.100.1")
        )
    found = await judged(letters)
    facts = found[-2].facts
    assert facts.mass_day == facts.mass_hour == facts.mass_fortnight
    truth = {
        "mass_day": copies - 1,  # what came before it
        "mass_ips": addresses,
        "mass_senders": senders,
        "mass_recipients": copies - 1,
    }
    said = {name: getattr(facts, name) for name in truth}
    assert all(said[name] <= truth[name] for name in truth), said
    # readers hang on four values only, as each costs a pair for each of them: of short texts much
    # is missed
    least = dict.fromkeys(truth, 0.5) | {"mass_recipients": 0.1}
    assert all(said[name] >= truth[name] * least[name] for name in truth), said
    if not changed:
        assert said == truth
    alone = found[-1].facts
    assert (alone.mass_day, alone.mass_ips, alone.mass_senders, alone.mass_recipients) == (
        0,
        0,
        0,
        0,
    )
