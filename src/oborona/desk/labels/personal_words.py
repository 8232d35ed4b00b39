"""What follows from people's labels for their own mail."""

from __future__ import annotations

from collections.abc import Sequence

from oborona import state_files
from oborona.desk.site import Site
from oborona.desk.state_folder import open_store
from oborona.feedback.label import Label, RecordedLabel
from oborona.feedback.personal_entries import LabelOrigin, entries_from_label
from oborona.reputation.personal import PersonalEntry, mail_address
from oborona.stores.persons.store import PersonStore


def note_words(
    site: Site, words: Sequence[tuple[Label, LabelOrigin, RecordedLabel]]
) -> list[tuple[str, ...]]:
    """Write down what follows from people's words for their own mail, and return it in words.

    For one that was said before, once more.

    Raises:
        StoreError: it can't be written; the words themselves stand, and saying them again mends it.
    """
    lines = []
    with open_store(site, PersonStore, state_files.PERSONS, make=True) as store:
        for word, origin, recorded in words:
            person, entries = mail_address(word.person), list[PersonalEntry]()
            if person:
                entries = entries_from_label(
                    word.kind, origin, word.pieces, person=person, word=recorded.id, now=word.time
                )
                store.say(person, recorded.id, entries, replaced=recorded.replaced, now=word.time)
            lines.append(tuple(f"{person}: {entry.say}" for entry in entries))
    return lines


def take_back_words(site: Site, words: Sequence[int]) -> None:
    """Remove what followed from words, where anything was ever written down."""
    if words and (site.state / state_files.PERSONS).exists():
        with open_store(site, PersonStore, state_files.PERSONS, make=True) as store:
            store.take_back(words)
