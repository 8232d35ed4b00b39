"""The store of persons as commands open it, and people's word noted there."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from oborona import state_files
from oborona.cli.asked import Asked
from oborona.cli.owner import as_owner_of
from oborona.feedback.personal import Origin, entries
from oborona.feedback.word import Heard, Word
from oborona.reputation.personal import Entry, mail_address
from oborona.stores.persons.store import Store


@contextmanager
def stored(asked: Asked, *, make: bool = True) -> Iterator[Store]:
    """Open the store as the daemon's user.

    Args:
        asked: whose state folder it lies in.
        make: begin one where there is none.

    Raises:
        StoreError: it can't be used; without `make`, there is none.
    """
    if not asked.state.is_dir():
        raise click.UsageError(
            f"{asked.state}: there is no state folder; has Oborona run with these settings?"
        )
    with as_owner_of(asked.state), Store(asked.state / state_files.PERSONS, make=make) as opened:
        yield opened


def person_named(text: str) -> str:
    """Return a person's address in its normal form.

    Raises:
        click.BadParameter: it is no mail address.
    """
    person = mail_address(text)
    if not person:
        raise click.BadParameter(f"{text[:100]!a} is no mail address")
    return person


def note_words(asked: Asked, words: Sequence[tuple[Word, Origin, Heard]]) -> list[tuple[str, ...]]:
    """Write down what follows from people's words for their own mail, and return it in words.

    For one that was said before, once more.

    Raises:
        StoreError: it can't be written; the words themselves stand, and saying them again mends it.
    """
    told = []
    with stored(asked) as store:
        for word, origin, became in words:
            person, found = mail_address(word.person), list[Entry]()
            if person:
                found = entries(
                    word.kind, origin, word.pieces, person=person, word=became.id, now=word.time
                )
                store.say(person, became.id, found, replaced=became.replaced, now=word.time)
            told.append(tuple(f"{person}: {one.say}" for one in found))
    return told


def take_back_words(asked: Asked, words: Sequence[int]) -> None:
    """Remove what followed from words, where anything was ever written down."""
    if words and (asked.state / state_files.PERSONS).exists():
        with stored(asked) as store:
            store.take_back(words)


def until(expires: float) -> str:
    """Return an end for people; empty for none."""
    return time.strftime("%Y-%m-%d", time.localtime(expires)) if expires else ""
