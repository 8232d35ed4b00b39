"""Decides which copies of a message are moved now that its verdict may be another: pure.

A copy is moved only for what the policy says of the message, and only if that is certain:

    to the spam folder   today's mildest verdict is not accept, the verdict at delivery was; both by
                         the lists of its reader
    to the inbox         today's severest verdict is accept, it was filed as spam or moved there by
                         us, and what was learned since has a name

It stays if its reader has opened or moved it, if their own list decides, or if an earlier decision
did not lead to a move: what a mailbox refused once, or an admin took back, is not tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from oborona.journal.entry import CopyDelivery, JournalEntry
from oborona.policy.load import Policy
from oborona.policy.personal_list_match import DeliveredFacts, delivered_facts, reader_verdict
from oborona.recheck.engine.model import MailboxFolders, ReaderAction, RecheckCause, StayingCopy
from oborona.recheck.engine.pardon_reasons import render_reasons
from oborona.recheck.facts_at_delivery import readable
from oborona.recheck.moves import Move, MoveDecision, MoveState
from oborona.recheck.rejudgement import Rejudged
from oborona.reputation.personal import PersonalProfile, mail_address
from oborona.types import Action, ProvedIdentity, RuleHit, Verdict

PASSED: Final = (Action.ACCEPT, Action.SPAM)
OPENED: Final = "opened"
MOVED_BY_READER: Final = "moved by its recipient"
OWN_LIST: Final = "its recipient's list decides"
NOTHING_LEARNED: Final = "nothing was learned that speaks for it"
TAKEN_BACK: Final = "an admin took it back"
_PENDING: Final = (MoveState.DECIDED, MoveState.ISSUED)


def site_verdict(entry: JournalEntry) -> tuple[Action, str]:
    """Return what the site made of a message, and by what, whatever lists of its readers made of
    that.
    """
    if entry.kept is not None and entry.kept.site is not None:
        return entry.kept.site
    return entry.verdict, entry.decided_by


def by_site(entry: JournalEntry) -> JournalEntry:
    """Return an entry with the site's verdict in the place of its readers'."""
    action, decided_by = site_verdict(entry)
    if decided_by == entry.decided_by:
        return entry
    return msgspec.structs.replace(entry, verdict=action, decided_by=decided_by)


def decide_copies(
    entry: JournalEntry,
    went: Sequence[CopyDelivery],
    rejudged: Rejudged,
    policy: Policy,
    *,
    people: Sequence[PersonalProfile],
    touched: Sequence[ReaderAction],
    made: Sequence[Move],
    folders: MailboxFolders,
    cause: RecheckCause,
    because: Callable[[Sequence[Move]], tuple[str, ...]],
    now: float,
) -> tuple[tuple[MoveDecision, ...], tuple[StayingCopy, ...]]:
    """Return the copies that are to be moved, and those that stay although the verdict is another.

    Args:
        entry: of the journal.
        went: where its copies went, as far as that is known.
        rejudged: the message as it is judged now.
        policy: it is judged by.
        people: its recipients, in their order.
        touched: what persons did with it.
        made: its moves so far.
        folders: of the site.
        cause: why it was looked at.
        because: returns what was learned that speaks for a filed copy, by the moves of it that were
            made.
        now: Unix seconds.
    """
    decisions: list[MoveDecision] = []
    stays: list[StayingCopy] = []
    hands = {move.person: move for move in touched}
    sides = None
    for recipient, person in zip(entry.recipients, people, strict=True):
        mine = [move for move in made if move.recipient == recipient]
        where = _where(entry, went, recipient, mine, folders)
        if not may_move(rejudged, filed=where != folders.inbox):
            continue
        if sides is None:
            sides = _Sides(entry, rejudged, policy)
        target = sides.target(where, person, folders, now, ours=bool(mine))
        hand = hands.get(mail_address(recipient)) or hands.get(person.address)
        why = _stays(hand, mine) or (OWN_LIST if not target else "")
        if why:
            stays.append(StayingCopy(recipient, why))
            continue
        if any(move.state in _PENDING for move in mine):
            continue
        named = because(mine) if target == folders.inbox else ()
        if target == folders.inbox and not named:
            stays.append(StayingCopy(recipient, NOTHING_LEARNED))
            continue
        decisions.append(
            MoveDecision(
                message=entry.id,
                recipient=recipient,
                source=where,
                target=target,
                why=deciding_words(rejudged.verdict),
                score=rejudged.verdict.score,
                line=rejudged.verdict.line,
                event=cause.value,
                because=render_reasons(named),
            )
        )
    return tuple(decisions), tuple(stays)


def may_move(rejudged: Rejudged, *, filed: bool) -> bool:
    """Tell whether a copy may have to go somewhere else, whoever its reader is.

    Args:
        rejudged: the message as it is judged now.
        filed: it is in the spam folder.
    """
    return rejudged.severest is Action.ACCEPT if filed else rejudged.mildest is not Action.ACCEPT


def deciding_words(verdict: Verdict) -> str:
    """Return what decided, and its words."""
    hit: RuleHit | None = next(
        (rule for rule in verdict.rules if rule.name == verdict.decided_by), None
    )
    return f"{verdict.decided_by} {hit.say}".strip() if hit is not None else verdict.decided_by


def _where(
    entry: JournalEntry,
    went: Sequence[CopyDelivery],
    recipient: str,
    mine: Sequence[Move],
    folders: MailboxFolders,
) -> str:
    """Return the folder that a copy is in, as far as we know."""
    for move in reversed(mine):
        if move.state in (MoveState.DONE, *_PENDING):
            return move.target
    name = recipient.lower()
    spam = next(
        (delivery.spam for delivery in went if delivery.recipient.lower() == name),
        entry.verdict is Action.SPAM,
    )
    return folders.spam if spam else folders.inbox


def _stays(hand: ReaderAction | None, mine: Sequence[Move]) -> str:
    """Return why a copy is not to be moved by us; empty where it may be."""
    if hand is not None and (hand.moved or hand.opened):
        return MOVED_BY_READER if hand.moved else OPENED
    for move in mine:
        if move.state is MoveState.UNDONE or move.undoes is not None:
            return TAKEN_BACK
        if move.state in (MoveState.KEPT, MoveState.FAILED):
            return move.note or move.state.value
    return ""


class _Sides:
    """A message as its readers are asked about it: then, and now at its mildest and severest."""

    def __init__(self, entry: JournalEntry, rejudged: Rejudged, policy: Policy) -> None:
        facts, _ = readable(rejudged.facts)
        proved = ProvedIdentity(
            author=facts.author, author_domain=facts.author_domain, sender=facts.sender_proved
        )
        lists = frozenset(local_list.name for local_list in policy.local_lists.lists)
        lines = policy.verdict
        action, decided_by = site_verdict(entry)

        def side(action: Action, score: float, decided_by: str) -> DeliveredFacts:
            verdict = Verdict(action=action, score=score, line=0.0, decided_by=decided_by)
            return delivered_facts(
                facts,
                proved,
                entry.shingles,
                verdict,
                spam_score=lines.spam_score,
                reject_score=lines.reject_score,
                lists=lists,
            )

        self._then = side(action, entry.score, decided_by)
        self._mildest = side(rejudged.mildest, rejudged.lowest, rejudged.verdict.decided_by)
        self._severest = side(rejudged.severest, rejudged.highest, rejudged.verdict.decided_by)

    def target(
        self,
        where: str,
        person: PersonalProfile,
        folders: MailboxFolders,
        now: float,
        *,
        ours: bool,
    ) -> str:
        """Return where a copy that may be moved belongs.

        Empty where its reader's list says otherwise.
        """
        then = reader_verdict(self._then, person, now).action
        if where == folders.inbox:
            if (
                reader_verdict(self._mildest, person, now).action is Action.ACCEPT
                or then is not Action.ACCEPT
            ):
                return ""
            return folders.spam
        if reader_verdict(self._severest, person, now).action is not Action.ACCEPT:
            return ""
        if then is Action.ACCEPT and not ours:
            return ""
        return folders.inbox
