"""The reports about a message, the decisions on them, and the effects that are still in place."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Final

import click
import msgspec

from oborona import state_files
from oborona.cli.duration import shown_utc
from oborona.cli.terminal import Terminal, plain
from oborona.desk.owner import as_owner_of
from oborona.errors import StoreError
from oborona.feedback.effect_outbox import EffectOutbox
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventChannel, EventKind, StoredEvent
from oborona.feedback.label_store import LabelStore
from oborona.feedback.processing.decision_effects import mark_of
from oborona.feedback.processing.signature_proposals import proposals_of
from oborona.stores.persons.store import PersonStore

_HELD: Final = {0: "not yet", 1: "yes", 2: "in doubt"}


class ExplainedDecision(msgspec.Struct, frozen=True, kw_only=True):
    """An earlier decision of an event."""

    time: str  # ISO 8601
    decision: str
    weight: float
    rules: tuple[str, ...]
    say: str


class ExplainedFeedback(msgspec.Struct, frozen=True, kw_only=True):
    """One event about the message."""

    id: int
    what: EventKind
    way: EventChannel
    time: str  # ISO 8601, when it was done
    person: str
    source: str
    mailbox: str
    decision: str  # waiting, believed, own (for the person's own mail alone), refused
    weight: float
    rules: tuple[str, ...]  # antifraud rules that fired
    say: str
    effects: tuple[str, ...]  # what followed when it was decided
    done: bool  # all of it is there
    word: int | None  # null: none follows
    word_state: str  # queued, learned, counted, ...
    counted: str  # yes, no, not yet, in doubt: whether the counters have it
    own_list: tuple[str, ...]  # entries of the person's list that are there
    proposals: tuple[str, ...]  # signatures that were proposed of its campaign
    before: tuple[ExplainedDecision, ...]  # earlier decisions


def feedback_on(state: Path, ident: int) -> tuple[ExplainedFeedback, ...]:
    """Return what was said of a message of the journal.

    What can't be read is a word on standard error.
    """
    if not (state / state_files.EVENTS).exists():
        return ()
    try:
        with as_owner_of(state), ExitStack() as stack:
            log = stack.enter_context(EventLog(state / state_files.EVENTS, make=False))
            words = (
                stack.enter_context(LabelStore(state / state_files.FEEDBACK, make=False))
                if (state / state_files.FEEDBACK).exists()
                else None
            )
            own = (
                stack.enter_context(PersonStore(state / state_files.PERSONS, make=False))
                if (state / state_files.PERSONS).exists()
                else None
            )
            return tuple(_explain_event(event, log, words, own) for event in log.about(ident=ident))
    except StoreError as error:
        click.echo(f"oborona: {error}; what people said of it is not told", err=True)
        return ()


def show(console: Terminal, reports: tuple[ExplainedFeedback, ...]) -> None:
    """Print what was said of a message."""
    for report in reports:
        person = report.person or report.source or "the site"
        heading = (
            f"{report.time}  {EventKind(report.what).report} of {person} by {report.way}: "
            f"{_shown(report.decision)}"
        )
        heading += f", weight {report.weight:.2f}" if report.decision == "believed" else ""
        heading += (
            f" ({' '.join(report.rules)}: {report.say})" if report.rules or report.say else ""
        )
        console.print(plain(f"report {report.id}  {heading}"), highlight=False)
        lines = [*report.effects]
        if report.word is not None:
            lines.append(
                f"label {report.word} is {report.word_state or 'forgotten'}; in the counters: "
                f"{report.counted}"
            )
        lines += [f"on the list of {report.person}: {entry}" for entry in report.own_list]
        lines += [f"proposed signature {name}" for name in report.proposals]
        lines += [] if report.done else ["not all of it is applied yet"]
        lines += [
            f"before, {before.time}: {_shown(before.decision)} {' '.join(before.rules)}".rstrip()
            for before in report.before
        ]
        for line in lines:
            console.print(plain(f"      {line}"), highlight=False)


def _shown(decision: str) -> str:
    """Return a decision as people read it."""
    return "accepted" if decision == "believed" else decision


def _explain_event(
    event: StoredEvent, log: EventLog, words: LabelStore | None, own: PersonStore | None
) -> ExplainedFeedback:
    decision = "waiting" if event.decided is None else _word(counts=event.counts, own=event.own)
    state, counted = _label_state(event, log, words)
    entries = (
        [] if own is None or not event.person or not event.word else own.of(event.person).entries
    )
    return ExplainedFeedback(
        id=event.id,
        what=event.what,
        way=event.way,
        time=shown_utc(event.time),
        person=event.person,
        source=event.source,
        mailbox=event.mailbox,
        decision=decision,
        weight=event.weight,
        rules=event.rules,
        say=event.say,
        effects=event.effects,
        done=event.decided is not None and event.done >= event.turn,
        word=event.word or None,
        word_state=state,
        counted=counted,
        own_list=tuple(entry.say for entry in entries if entry.word == event.word),
        proposals=tuple(proposals_of(log, event.campaign)) if event.campaign else (),
        before=tuple(
            ExplainedDecision(
                time=shown_utc(old.time),
                decision=_word(counts=old.counts, own=old.own),
                weight=old.weight,
                rules=old.rules,
                say=old.say,
            )
            for old in log.decisions(event.id)
        ),
    )


def _label_state(event: StoredEvent, log: EventLog, words: LabelStore | None) -> tuple[str, str]:
    """Return the state of the word of an event, and whether the counters have what it counts."""
    if words is None:
        return "", "no"
    if event.what in (EventKind.READ, EventKind.DELETED):
        states = EffectOutbox(words).states(mark_of(log.origin(), event.id, event.turn))
        is_counted = next((held for _, held in states.values()), False)
        return "", "in doubt" if is_counted is None else "yes" if is_counted else "no"
    try:
        state = words.get(event.word).state.value if event.word else ""
    except KeyError:
        state = ""
    rows = words.rows("SELECT held FROM counted WHERE id = ? AND pieces <> x''", (event.word,))
    return state, _HELD[rows[0][0]] if rows else "no"


def _word(*, counts: bool, own: bool) -> str:
    return "believed" if counts else "own" if own else "refused"
