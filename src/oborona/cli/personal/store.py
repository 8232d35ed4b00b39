"""The store of persons as commands open it, and people's word noted there."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager

import click

from oborona import state_files
from oborona.cli.context import CliContext
from oborona.desk.state_folder import open_store
from oborona.feedback.label import Label, RecordedLabel
from oborona.feedback.personal_entries import LabelOrigin, entries_from_label
from oborona.reputation.personal import PersonalEntry, mail_address
from oborona.stores.persons.store import PersonStore


def open_persons(context: CliContext, *, make: bool = True) -> AbstractContextManager[PersonStore]:
    """Open the store as the daemon's user.

    Args:
        context: whose state folder it lies in.
        make: begin one where there is none.

    Raises:
        StoreError: it can't be used; without `make`, there is none.
    """
    return open_store(context, PersonStore, state_files.PERSONS, make=make)


def person_named(text: str) -> str:
    """Return a person's address in its normal form.

    Raises:
        click.BadParameter: it is no mail address.
    """
    person = mail_address(text)
    if not person:
        raise click.BadParameter(f"{text[:100]!a} is no mail address")
    return person


def note_words(
    context: CliContext, words: Sequence[tuple[Label, LabelOrigin, RecordedLabel]]
) -> list[tuple[str, ...]]:
    """Write down what follows from people's words for their own mail, and return it in words.

    For one that was said before, once more.

    Raises:
        StoreError: it can't be written; the words themselves stand, and saying them again mends it.
    """
    lines = []
    with open_persons(context) as store:
        for word, origin, recorded in words:
            person, entries = mail_address(word.person), list[PersonalEntry]()
            if person:
                entries = entries_from_label(
                    word.kind, origin, word.pieces, person=person, word=recorded.id, now=word.time
                )
                store.say(person, recorded.id, entries, replaced=recorded.replaced, now=word.time)
            lines.append(tuple(f"{person}: {entry.say}" for entry in entries))
    return lines


def take_back_words(context: CliContext, words: Sequence[int]) -> None:
    """Remove what followed from words, where anything was ever written down."""
    if words and (context.state / state_files.PERSONS).exists():
        with open_persons(context) as store:
            store.take_back(words)


def until(expires: float) -> str:
    """Return an end for people; empty for none."""
    return time.strftime("%Y-%m-%d", time.localtime(expires)) if expires else ""
