"""A signature looked for before it is in force: in good mail that the site has kept, and in the
newest messages of the journal.

The journal has no text: of these messages, entities are known by their hashes, and words are looked
for in subjects and in names of senders alone.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

import msgspec

from oborona import state_files
from oborona.desk.labels.kept_messages import KeptMessages
from oborona.desk.messages.unicode_text import escaped
from oborona.desk.signatures.trial import count_having
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.ident import to_text
from oborona.journal.entry import JournalEntry
from oborona.journal.queries import JournalReader
from oborona.message.model import Mailbox, Message
from oborona.message.shingles import Hasher
from oborona.policy.signatures import Signature, SignatureBook
from oborona.policy.signatures.model import WORDS
from oborona.recheck.engine.signature_changes import shingles_of
from oborona.types import Action

KEPT: Final = 200  # good messages of which somebody handed in the text, the newest
NEWEST: Final = 2_000  # messages of the journal
AT_ONCE: Final = 200
WITHIN_S: Final = 1.5
EXAMPLES: Final = 5


class TrialExample(msgspec.Struct, frozen=True, kw_only=True):
    """A message that has the signature: its id, sender, subject, and what was done with it."""

    id: str
    sender: str
    subject: str
    verdict: Action


class FirstTrial(msgspec.Struct, frozen=True, kw_only=True):
    """Where a signature was looked for.

    Args:
        kept: good messages of which the site has the text.
        kept_having: of these, those that have it.
        newest: messages of the journal.
        having: of these, those that have it.
        accepted: of these, those that were let in as good mail.
        words_only: of the journal, subjects and names of senders alone were looked at.
        complete: False: the time was over before all were looked at.
        examples: some of the journal that have it, those that were let in first.
    """

    kept: int
    kept_having: int
    newest: int = 0
    having: int = 0
    accepted: int = 0
    words_only: bool = False
    complete: bool = True
    examples: tuple[TrialExample, ...] = ()


def first_trial(site: Site, signature: Signature, *, whole: bool) -> FirstTrial:
    """Look for a signature in mail that is known.

    Args:
        site: whose; a store that can't be read is a notice, and nothing is found there.
        signature: checked.
        whole: also in the journal.
    """
    having = kept = 0
    try:
        with KeptMessages(site) as messages:
            having, kept = count_having(site, signature, messages.good(KEPT))
    except StoreError as error:
        site.notice(f"{error}; good mail that is kept was not looked at")
    trial = FirstTrial(kept=kept, kept_having=having)
    if not whole:
        return trial
    try:
        return asyncio.run(_journal_trial(site, signature, trial))
    except StoreError as error:
        site.notice(f"{error}; the newest messages were not looked at")
        return msgspec.structs.replace(trial, complete=False)


async def _journal_trial(site: Site, signature: Signature, trial: FirstTrial) -> FirstTrial:
    shingles = frozenset(shingles_of(signature, Hasher(site.keys().shingles)))
    book = SignatureBook.of([signature]) if signature.kind in WORDS else None
    ends, newest, before, over = time.monotonic() + WITHIN_S, 0, 0, False
    found: list[JournalEntry] = []
    async with await JournalReader.open(site.state / state_files.JOURNAL) as journal:
        while newest < NEWEST and not over:
            entries = await journal.latest_below(before, min(AT_ONCE, NEWEST - newest))
            for entry in entries:
                newest += 1
                before = entry if isinstance(entry, int) else entry.id
                if not isinstance(entry, int) and _has(entry, shingles, book):
                    found.append(entry)
            over = time.monotonic() > ends
            if not entries:
                break
    found.sort(key=lambda entry: (entry.verdict is not Action.ACCEPT, -entry.id))
    return msgspec.structs.replace(
        trial,
        newest=newest,
        having=len(found),
        accepted=sum(entry.verdict is Action.ACCEPT for entry in found),
        words_only=book is not None,
        complete=not over or newest >= NEWEST,
        examples=tuple(map(_example, found[:EXAMPLES])),
    )


def _has(entry: JournalEntry, shingles: frozenset[object], book: SignatureBook | None) -> bool:
    if book is None:
        return not shingles.isdisjoint(entry.shingles)
    name = entry.header_from.rpartition("<")[0].strip(' "')
    known = Message(raw=b"", subject=entry.subject, from_=Mailbox(name, "", ""))
    return bool(book.find(known, 0.0).signatures)


def _example(entry: JournalEntry) -> TrialExample:
    return TrialExample(
        id=to_text(entry.id),
        sender=escaped(entry.sender),
        subject=escaped(entry.subject),
        verdict=entry.verdict,
    )
