"""Words about messages made up for tests: each message has words of its class, and some that all
have.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Final

from oborona import state_files
from oborona.feedback.label import Label, LabelKind, LabelSource
from oborona.feedback.label_extraction import extract_label
from oborona.feedback.label_store import LabelStore
from oborona.feedback.trainer import Trainer
from oborona.message.shingles import Hasher

KEY: Final = bytes(range(32))
HASHER: Final = Hasher(KEY)
NOW: Final = 1_800_000_000.0
_WORDS: Final = {
    LabelKind.SPAM: "cheap pills casino winner million dollars click here loan urgent replica watches",
    LabelKind.HAM: (
        "meeting minutes kernel patch review dinner on friday invoice attached thanks regards "
        "school"
    ),
}
_SHARED: Final = "the and of to a in is you that it he was for on are with as his they at"


def letter(number: int, kind: LabelKind) -> bytes:
    """Return a message; the same number and class always give the same."""
    drawn = random.Random(f"{kind} {number}")
    text = " ".join(
        drawn.choice((_WORDS[kind] if drawn.random() < 0.6 else _SHARED).split()) for _ in range(40)
    )
    return (
        f"From: person{drawn.randrange(50)}@{kind}.example\r\nTo: ann@b.example\r\n"
        f"Subject: {text[:30]}\r\nMessage-ID: <{kind}.{number}@a.example>\r\n\r\n{text}\r\n"
    ).encode()


def word(number: int, kind: LabelKind, *, person: str = "", when: float = NOW) -> Label:
    """Return a word that a letter is what it is."""
    return said(letter(number, kind), kind, person=person, when=when)


def said(raw: bytes, kind: LabelKind, *, person: str = "", when: float = NOW) -> Label:
    """Return a word that a message is of a class."""
    source = (
        LabelSource.COMMAND
        if not person
        else LabelSource.COMPLAINT
        if kind is LabelKind.SPAM
        else LabelSource.PARDON
    )
    found, _ = extract_label(raw, kind, source, hasher=HASHER, key=KEY, now=when, person=person)
    return found


def mixed(count: int, *, first: int = 0) -> list[Label]:
    """Return so many words, of spam and ham in turn."""
    return [
        word(number, LabelKind.SPAM if number % 2 else LabelKind.HAM, when=NOW + number)
        for number in range(first, first + count)
    ]


def trainer(state: Path, *, kept: int = 1000) -> Trainer:
    """Return a trainer of a state folder; it has begun."""
    return Trainer(state, kept=kept, retention_s=400 * 86_400.0, clock=lambda: NOW)


def settle(one: Trainer) -> Trainer:
    """Let a trainer do all there is to do."""
    for _ in range(10_000):
        if not one.step():
            return one
    raise AssertionError("it does not come to an end")


def teach(state: Path, words: list[Label]) -> list[int]:
    """Write words down; return their ids."""
    with LabelStore(state / state_files.FEEDBACK) as store:
        return [one.id for one in store.add(words, now=NOW)]
