"""`oborona learn`: tell the filter what mail is."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

import click
import msgspec

from oborona import state_files
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.invoking_user import invoking_user
from oborona.cli.label_store import store, wait, warn_without_trainer
from oborona.cli.mailboxes import messages
from oborona.cli.output import echo, echo_json
from oborona.cli.personal.store import note_words
from oborona.cli.progress import progress
from oborona.daemon.site_name import site_name
from oborona.daemon.state import prepare_state
from oborona.desk.owner import as_owner_of
from oborona.errors import StoreError
from oborona.feedback.events.log import EventLog
from oborona.feedback.label import Label, LabelKind, LabelSource, LabelState, RecordedLabel
from oborona.feedback.label_extraction import MESSAGE_ID_LENGTH, NotLabelable, extract_label
from oborona.feedback.personal_entries import (
    LabelOrigin,
    claimed_origin,
    origin_from_journal,
    origin_from_message,
)
from oborona.feedback.processing.admin_events import TaughtLabel, log_taught_labels
from oborona.ident import verify
from oborona.journal.entry import JournalEntry
from oborona.journal.queries import JournalReader
from oborona.message.shingles import Hasher

AT_ONCE: Final = 50  # words written down in one transaction
_RESULTS: Final = {
    "new": "",
    "replaced": "of these instead of the opposite",
    "duplicate": "known before",
    "refused": "refused",
}
"""Result of a message → its words where they are counted."""
_PATHS: Final = click.Path(path_type=Path, exists=True, allow_dash=True)


class _MessageToLearn(NamedTuple):
    """A message that is spoken of."""

    name: str
    word: Label | NotLabelable
    origin: LabelOrigin = LabelOrigin()


@click.command()
@click.argument("kind", type=click.Choice([kind.value for kind in LabelKind]))
@click.argument("paths", metavar="FILE|DIR|-...", nargs=-1, required=True, type=_PATHS)
@click.option("--person", default="", metavar="ADDRESS", help="Who says so. Default: the site.")
@click.option("--wait", "waits", is_flag=True, help="Wait until all workers use it.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="One JSON object per line: of each message, then of all.",
)
@pass_cli_context
def learn(
    context: CliContext, kind: str, paths: Sequence[Path], person: str, waits: bool, as_json: bool
) -> None:
    """Train that messages are spam, or ham (good mail).

    Message files, mboxes, Maildirs, folders of message files, or one message from standard input. A
    message that the same person has labelled before counts once; the opposite label replaces it.
    With --person it acts on that person's mail at once (`oborona personal`). Exit status 1 when
    nothing could be learned from some message.
    """
    if person and ("@" not in person or not person.isprintable() or len(person) > 254):
        raise click.BadParameter(f"{person!r} is no mail address", param_hint="--person")
    if not (context.state / state_files.SECRET).exists():
        with as_owner_of(context.state):
            prepare_state(context.state)
    results = Counter[str]()
    with store(context, make=True) as taught, progress("messages") as advance:
        last = 0
        for some in _batches(context, _read_messages(context, paths, LabelKind(kind), person)):
            words = [learned for learned in some if isinstance(learned.word, Label)]
            recorded = taught.add(
                [learned.word for learned in words if isinstance(learned.word, Label)],
                now=time.time(),
            )
            _record_effects(
                context, [learned for learned in words if isinstance(learned.word, Label)], recorded
            )
            labels = iter(recorded)
            for name, word, _origin in some:
                line: dict[str, object]
                if isinstance(word, Label):
                    label = next(labels)
                    line = {
                        "result": "replaced"
                        if label.replaced
                        else "new"
                        if label.new
                        else "duplicate"
                    }
                    line |= {"id": label.id} | (
                        {"instead_of": label.replaced} if label.replaced else {}
                    )
                    last = label.id if label.new else last
                else:
                    line = {"result": "refused", "reason": str(word)}
                    if not as_json:
                        click.echo(f"oborona: {name}: {word}", err=True)
                results[str(line["result"])] += 1
                if as_json:
                    echo_json({"message": name} | line)
                advance()
        if last and warn_without_trainer(context) and waits:
            wait(context, lambda: taught.get(last).state is not LabelState.QUEUED)
    if as_json:
        echo_json({"total": sum(results.values())} | {name: results[name] for name in _RESULTS})
    else:
        echo(
            f"{results['new'] + results['replaced']} labelled as {kind}"
            + "".join(
                f", {results[name]} {words}"
                for name, words in _RESULTS.items()
                if results[name] and words
            )
        )
    if results["refused"]:
        click.get_current_context().exit(1)


def _record_effects(
    context: CliContext, spoken: Sequence[_MessageToLearn], recorded: Sequence[RecordedLabel]
) -> None:
    """Write down what follows from words for their persons' own mail, and a line of each in the log
    of events.
    """
    words = [
        (learned.word, learned.origin, label)
        for learned, label in zip(spoken, recorded, strict=True)
        if isinstance(learned.word, Label)
    ]
    own = (
        note_words(context, words)
        if any(word.person for word, _, _ in words)
        else [()] * len(words)
    )
    with as_owner_of(context.state), EventLog(context.state / state_files.EVENTS) as log:
        taught = [
            TaughtLabel(word, label, lines)
            for (word, _, label), lines in zip(words, own, strict=True)
        ]
        log_taught_labels(log, taught, source=invoking_user(), now=time.time())


def _read_messages(
    context: CliContext, paths: Iterable[Path], kind: LabelKind, person: str
) -> Iterator[_MessageToLearn]:
    """Yield what is to be written down of each message."""
    keys, settings, site = context.keys(), context.loaded.settings, site_name(context.loaded)
    hasher, source = Hasher(keys.shingles), _source(kind, person)
    for mail in (mail for path in paths for mail in messages(path)):
        try:
            word, message = extract_label(
                mail.raw,
                kind,
                source,
                hasher=hasher,
                key=keys.feedback,
                now=time.time(),
                person=person,
                weight=settings.learning.person_weight if person else 1.0,
                regions=settings.site.regions.split(),
            )
        except NotLabelable as error:
            yield _MessageToLearn(mail.name, error)
            continue
        ident = verify(message.get("x-mras-id") or "", keys.signature)
        yield _MessageToLearn(
            mail.name,
            word if ident is None else msgspec.structs.replace(word, journal=ident),
            origin_from_message(message, site, ours=ident is not None),
        )


def _source(kind: LabelKind, person: str) -> LabelSource:
    if not person:
        return LabelSource.COMMAND
    return LabelSource.COMPLAINT if kind is LabelKind.SPAM else LabelSource.PARDON


def _batches(
    context: CliContext, words: Iterator[_MessageToLearn]
) -> Iterator[list[_MessageToLearn]]:
    """Yield some words at a time.

    Those about messages of the journal count under what was counted when these came, and what was
    proved then.
    """
    while some := list(islice(words, AT_ONCE)):
        entries = asyncio.run(
            _journal_entries(
                context,
                [
                    learned.word.journal
                    for learned in some
                    if isinstance(learned.word, Label) and learned.word.journal
                ],
            )
        )
        yield [_with_journal_entry(learned, entries) for learned in some]


def _with_journal_entry(
    learned: _MessageToLearn, entries: Mapping[int, JournalEntry]
) -> _MessageToLearn:
    """Return a word with what the journal knows of its message."""
    entry = entries.get(learned.word.journal or 0) if isinstance(learned.word, Label) else None
    if entry is None or not isinstance(learned.word, Label):
        return learned
    if entry.message_id and entry.message_id[:MESSAGE_ID_LENGTH] != learned.word.message_id:
        # somebody put the id of one message above another: it speaks for nothing that stands there
        word = msgspec.structs.replace(learned.word, journal=None)
        return _MessageToLearn(learned.name, word, claimed_origin(learned.origin))
    word = (
        msgspec.structs.replace(learned.word, pieces=entry.shingles)
        if entry.shingles
        else learned.word
    )
    same = bool(entry.message_id)  # else the mail server gave it one later
    return _MessageToLearn(
        learned.name, word, (origin_from_journal(entry.facts) if same else None) or learned.origin
    )


async def _journal_entries(context: CliContext, idents: Sequence[int]) -> dict[int, JournalEntry]:
    """Return messages of the journal, those that it still has."""
    if not idents:
        return {}
    try:
        async with await JournalReader.open(context.state / state_files.JOURNAL) as journal:
            entries = [await journal.get(ident) for ident in idents]
    except StoreError as error:
        click.echo(f"oborona: {error}; counted without what the journal knows", err=True)
        return {}
    return {entry.id: entry for entry in entries if entry is not None}
