"""Mail for the demo that needs nothing but this repository: everyday letters made here, and the
golden mails.

Everyday letters are of the kinds that fill a mailbox (a question, an answer, an order, a bill, an
appointment, a newsletter, a list; English and Russian), with names, numbers and dates drawn by a
seed.  They show what ordinary mail becomes; how much spam is caught is measured on real mail
elsewhere.
"""

from __future__ import annotations

import random
import tomllib
from base64 import b64encode
from pathlib import Path
from typing import Final

from tests.letters import DOMAIN, NAMES, Kind, Letter, as_it_arrived, varied

KINDS: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())["letter"]
HOUSES: Final = (
    "bakery",
    "library",
    "school",
    "workshop",
    "garden",
    "museum",
    "clinic",
    "printers",
)
GOLDEN: Final = Path(__file__).parent / "golden/mails"
SPAM: Final = (
    "06", "07", "18-disguised", "20", "22", "23", "25", "65-advance", "66-sextortion", "67-mailbox", "68-parcel", "69-gift", "70-crypto", "71-pills",
    "72-kredit", "73-baza", "74-pret", "75-seo", "76-prize",
)  # fmt: skip
"""Golden mails that are spam as it comes, rather than one trait of it."""


def golden() -> list[Letter]:
    """Return golden mails that are good, and those that are spam, each once."""
    letters: list[Letter] = []
    for file in sorted(GOLDEN.glob("*.eml")):
        number, _, name = file.stem.partition("-")
        good = name.startswith("good-")
        if good or file.stem.startswith(SPAM):
            kind = Kind.HAM if good else Kind.SPAM
            letters.append(
                as_it_arrived(file.read_bytes(), kind, f"golden{number}{len(letters):03}")
            )
    return letters


def everyday(number: int, *, seed: int) -> list[Letter]:
    """Return ordinary letters, each from a sender of its own.

    Args:
        number: how many.
        seed: which.
    """
    chance = random.Random(seed)
    return [_letter(place, chance) for place in range(number)]


def _letter(place: int, chance: random.Random) -> Letter:
    kind = chance.choice(KINDS)
    name, other = chance.sample(NAMES, 2)
    domain = f"{chance.choice(HOUSES)}{place}.example"
    words = {
        "name": name,
        "other": other,
        "domain": domain,
        "number": str(chance.randrange(10_000, 99_999)),
        "sum": f"{chance.randrange(9, 300)}.{chance.randrange(100):02}",
        "day": str(chance.randrange(1, 29)),
        "hour": str(chance.randrange(8, 18)),
        "ident": f"{chance.getrandbits(64):x}",
    }
    body = varied(kind["text"], chance).format(**words)
    title = varied(kind["subject"], chance).format(**words)
    if not title.isascii():
        title = f"=?utf-8?b?{b64encode(title.encode()).decode()}?="
    sender = f"{name.lower()}@{domain}"
    recipient = f"everyday{place:04}@{DOMAIN}"
    raw = (
        f"From: {name} <{sender}>\nTo: <{recipient}>\nSubject: {title}\n"
        f"Date: Mon, {words['day']:>02} Jun 2026 {words['hour']:>02}:14:07 +0000\nMessage-ID: "
        f"<{words['ident']}@{domain}>\n"
        f"{kind['headers'].format(**words)}MIME-Version: 1.0\nContent-Type: text/plain; "
        f"charset=utf-8\n"
        f"Content-Transfer-Encoding: 8bit\n\n{body}"
    ).encode()
    return Letter(
        kind=Kind.HAM,
        raw=raw,
        client_ip=f"198.19.{place // 250 % 250}.{place % 250 + 1}",
        helo=f"mail.{domain}",
        sender=sender,
        recipient=recipient,
    )
