"""One message, or all of one recipient, judged again now: what would be moved, or is decided."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from oborona import state_files
from oborona.daemon.keeper.limits import limits_of
from oborona.daemon.keeper.person_actions import PersonActions
from oborona.desk.site import Site
from oborona.errors import ConfigError
from oborona.ident import time_of_id, to_text
from oborona.people.caller import Scope
from oborona.policy.scan import ScanSite
from oborona.policy.signatures import Signature
from oborona.recheck.engine.delivered_messages import DeliveredMessages
from oborona.recheck.engine.model import DecidedMoves, NoActionsOrMoves, RecheckCause, RecheckResult
from oborona.recheck.engine.rescorer import AT_ONCE, Rescorer
from oborona.recheck.engine.signature_changes import SignatureChanges
from oborona.recheck.mailboxes.model import MailboxItem, MoveOutcome, MoveResult
from oborona.recheck.moves import MoveDecision, MoveStore
from oborona.reputation.pins import Pin, PinTable
from oborona.stores.mailboxes import open_mailboxes
from oborona.stores.signatures.rows import SignatureState
from oborona.stores.signatures.store import SignatureStore

MOST: Final = 2000  # messages of a recipient, the newest


class RecheckLookResult(msgspec.Struct, frozen=True, kw_only=True):
    """What was found of one message, and of one copy of it."""

    id: str
    time: float  # Unix seconds
    recipient: str
    sender: str
    subject: str
    then: str  # verdict
    then_score: float
    now: str
    now_score: float
    possible: tuple[str, ...]  # verdicts of now, whatever rules that can't be judged say
    line: float
    why: str
    source: str = ""
    target: str = ""  # empty = it stays where it is
    because: str = ""  # to the inbox: what was learned
    stays: str = ""  # why, where the verdict is another
    mailbox: str = ""  # what its mailbox says of the move


class LookedCopies(NamedTuple):
    """Copies that were judged again."""

    copies: list[RecheckLookResult]
    moves: list[int]  # that were decided now


class CopySupposition(msgspec.Struct, frozen=True, kw_only=True):
    """What is supposed to be in force beside what is.

    Args:
        signatures: that were not when the messages came; of words none can be found.
        pins: of reputations.
    """

    signatures: tuple[Signature, ...] = ()
    pins: tuple[Pin, ...] = ()

    def added_to(self, site: ScanSite) -> ScanSite:
        """Return the parts of a scan with these pins."""
        if not self.pins or not isinstance(site.pins, PinTable):
            return site
        for pin in self.pins:  # the table is this scan's own
            site.pins.put(pin)
        return site


def _lately(state: Path, since: float) -> list[Signature]:
    """Return the signatures that came while messages came that may still be moved: the keeper
    looks for them in these, too.
    """
    path = state / state_files.SIGNATURES
    if not path.exists():
        return []
    with SignatureStore(path) as store:
        rows = store.all(SignatureState.ACTIVE)
    return [row.signature for row in rows if row.signature.created >= since]


async def look_at_copies(
    site: Site,
    numbers: Sequence[int] | None,
    address: str,
    scope: Scope,
    *,
    dry: bool,
    now: float = 0.0,
    supposed: CopySupposition | None = None,
) -> LookedCopies | None:
    """Judge delivered messages again, and decide moves of their copies.

    Args:
        site: whose.
        numbers: of messages in the journal; None = all messages of a recipient in the window.
        address: of that recipient.
        scope: whose copies are looked at.
        dry: decide nothing, and ask the mailboxes.
        now: time of the moves that are decided, Unix seconds; 0 = it is told by the clock.
        supposed: what is in force beside what is.

    Returns:
        None: there is no such message, or nobody of the scope has a copy.
    """
    settings, now = site.loaded.settings, now or time.time()
    supposed = supposed or CopySupposition()
    limits = limits_of(settings)
    actions, path = PersonActions(site.state), site.state / state_files.MOVES
    moves = MoveStore(path) if path.exists() or not dry else None
    try:
        async with await DeliveredMessages.open(site.state / state_files.JOURNAL) as journal:
            if numbers is None:
                ids = await journal.of_recipient(address, now - limits.window_s, MOST)
            else:
                ids = list(numbers)
            versions: Mapping[str, Mapping[str, str]] = await journal.policies()
            decided: DecidedMoves = NoActionsOrMoves() if moves is None else moves
            with site.site() as scanned:
                rescorer = Rescorer(
                    supposed.added_to(scanned),
                    site.policy(),
                    asked=versions,
                    people=actions,
                    made=decided,
                    folders=limits.folders,
                    signed=SignatureChanges(
                        {
                            one.id: one
                            for one in (
                                *_lately(site.state, now - limits.window_s),
                                *supposed.signatures,
                            )
                        },
                        scanned.hasher,
                    ),
                )
                results: list[RecheckResult] = []
                for start in range(0, len(ids), AT_ONCE):
                    entries = await journal.taken(ids[start : start + AT_ONCE])
                    results += await rescorer.again(entries, RecheckCause.ASKED, now)
        shown = _Shown(None if numbers is not None else address.lower(), scope)
        if numbers is not None and not any(map(shown.has_part, results)):
            return None
        decisions = [
            move for result in results for move in result.moves if shown.covers(move.recipient)
        ]
        answers: dict[tuple[int, str], MoveResult] = {}
        new: list[int] = []
        if dry:
            answers = await _ask_mailboxes(site, results, decisions)
        elif moves is not None:
            new = moves.decide(decisions, now=now)
        copies = [line for second in results for line in _result_rows(second, shown, answers)]
        return LookedCopies(copies, new)
    finally:
        actions.close()
        if moves is not None:
            moves.close()


class _Shown(NamedTuple):
    """Whose copies are shown and moved."""

    only: str | None  # this recipient's, lower case; None = everybody's
    scope: Scope

    def covers(self, recipient: str) -> bool:
        return self.only in (None, recipient.lower()) and self.scope.covers(recipient)

    def has_part(self, result: RecheckResult) -> bool:
        """Tell whether a message is there for the caller."""
        return self.scope.whole or any(map(self.covers, result.entry.recipients))


async def _ask_mailboxes(
    site: Site, results: Sequence[RecheckResult], decisions: Sequence[MoveDecision]
) -> dict[tuple[int, str], MoveResult]:
    """Return what mailboxes say of moves; nothing is changed in them."""
    settings = site.loaded.settings
    try:
        boxes = open_mailboxes(settings)
    except ConfigError as error:
        site.notice(f"{error}; mailboxes are not asked")
        return {}
    if boxes is None:
        return {}
    names = {result.entry.id: result.entry.message_id for result in results}
    answers: dict[tuple[int, str], MoveResult] = {}
    try:
        for source in {decision.source for decision in decisions}:
            some = [decision for decision in decisions if decision.source == source]
            letters = [
                MailboxItem(
                    user=settings.mailboxes.owner(decision.recipient),
                    ident=to_text(decision.message),
                    message_id=names[decision.message],
                    delivered=time_of_id(decision.message),
                )
                for decision in some
            ]
            for decision, done in zip(some, await boxes.look(letters, source), strict=True):
                answers[decision.message, decision.recipient] = done
    finally:
        await boxes.close()
    return answers


def _result_rows(
    result: RecheckResult, shown: _Shown, answers: Mapping[tuple[int, str], MoveResult]
) -> list[RecheckLookResult]:
    entry, rejudged = result.entry, result.again
    moving = {move.recipient: move for move in result.moves}
    staying = {stay.recipient: stay.why for stay in result.stays}
    lines = []
    for recipient in entry.recipients:
        if not shown.covers(recipient):
            continue
        move, done = moving.get(recipient), answers.get((entry.id, recipient))
        lines.append(
            RecheckLookResult(
                id=to_text(entry.id),
                time=entry.time,
                recipient=recipient,
                sender=entry.sender,
                subject=entry.subject,
                then=entry.verdict.value,
                then_score=entry.score,
                now="" if rejudged is None else rejudged.verdict.action.value,
                now_score=0.0 if rejudged is None else rejudged.verdict.score,
                possible=()
                if rejudged is None
                else tuple(dict.fromkeys((rejudged.mildest.value, rejudged.severest.value))),
                line=entry.line if rejudged is None else rejudged.verdict.line,
                why=result.why_not if rejudged is None else rejudged.verdict.decided_by,
                source="" if move is None else move.source,
                target="" if move is None else move.target,
                because="" if move is None else move.because,
                stays=staying.get(recipient, ""),
                mailbox=""
                if done is None
                else " ".join(
                    filter(
                        None,
                        ("moves" if done.outcome is MoveOutcome.MOVED else done.outcome, done.say),
                    )
                ),
            )
        )
    return lines
