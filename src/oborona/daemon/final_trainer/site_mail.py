"""The site's own mail as examples: what was known of each message when it was judged, from the
journal, and what people said of it.

Facts, counts and hits are those of the moment of delivery, so that a model learns from what it will
see.  What the final models themselves said is not among them.  A fact that was not kept is none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from email.utils import parseaddr
from math import sqrt
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from oborona import state_files
from oborona.daemon.final_trainer.labels import (
    LabelSign,
    MessageLabel,
    PeoplesActions,
    evenly,
    spoken,
)
from oborona.feedback.events.log import EventLog
from oborona.feedback.final.campaign_groups import CampaignGroups
from oborona.feedback.label import JournaledLabel
from oborona.feedback.label_store import LabelStore
from oborona.feedback.processing.campaigns import pieces_of
from oborona.ident import to_text
from oborona.journal.entry import JournalEntry
from oborona.journal.placements import JournalPlacements, MessagePlacement
from oborona.policy.disclosure import public_hits
from oborona.policy.fact_table import SCHEMA
from oborona.policy.facts import Facts
from oborona.policy.final_table import FinalTable
from oborona.policy.groups import RuleGroups, uncapped_hit
from oborona.policy.karma import KARMA
from oborona.policy.load import Policy
from oborona.policy.models.final.examples import ExampleBuilder, FinalExample
from oborona.policy.models.final.features import MODELS
from oborona.policy.models.final.law import added
from oborona.policy.models.final.model import Forest
from oborona.policy.rules import VerdictLines
from oborona.recheck.facts_at_delivery import facts_then, readable
from oborona.recheck.moves import MoveState, MoveStore
from oborona.reputation.personal import EntryAction, PersonalEntryKind, mail_address
from oborona.stores.persons.follower import untagged
from oborona.stores.persons.store import PersonStore
from oborona.types import RuleHit, RuleMode

# of what is told by silence, beside a word: most of it is right
OF_SILENCE: Final = 0.5


class SiteMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message of the site that people told something of."""

    ident: int
    example: FinalExample
    sign: LabelSign
    campaign: int
    rules: float  # score of the rules and karma, without any model
    hits: tuple[RuleHit, ...]  # live ones that a model sees, and that score
    shipped_odds: float  # what the model that adds to the rules says; 0 = there is none
    added: float  # points that this one adds now
    own_odds: float  # what the site's own model in force says


class ShippedPart(NamedTuple):
    """The model that adds to the rules, and the most that it may add now."""

    forest: Forest | None  # None = there is none
    most: float  # points; 0 = it is in shadow
    table: FinalTable
    lines: VerdictLines
    groups: RuleGroups

    def of(self, facts: Facts, hits: Sequence[RuleHit]) -> tuple[float, float]:
        """Return its log-odds for a message, and the points that it adds."""
        if self.forest is None:
            return 0.0, 0.0
        odds = self.forest.odds(facts, hits)
        return odds, self.points(odds, hits, self.most)

    def points(self, odds: float, hits: Sequence[RuleHit], most: float) -> float:
        """Return the points that it adds for its log-odds, were that the most."""
        if self.forest is None or not most:
            return 0.0
        points = self.forest.trained.points * odds
        more = added(points, most, hits, self.lines, self.table.overrules, self.groups)
        return round(more, 2)


class SiteMail(NamedTuple):
    """What a training is made from."""

    messages: list[SiteMessage]  # in the order in which they came
    names: tuple[str, ...]  # of the examples' numbers
    directions: dict[str, int]  # by feature: what it may speak for, as `train` takes it
    unfit: int  # that people spoke of, and of which not enough is kept
    contradicted: int  # left where they lay, and like what others spoke of: not used


def site_mail(
    state: Path,
    policy: Policy,
    own: Forest | None,
    shipped: ShippedPart,
    *,
    most: int,
    now: float,
) -> SiteMail:
    """Return the site's mail that people told something of.

    Args:
        state: the state folder.
        policy: in force.
        own: the site's own model in force; None = there is none.
        shipped: what the model that adds to the rules may do now.
        most: messages; the newest of those that people spoke of, and of the others evenly.
        now: Unix seconds.

    Raises:
        StoreError: a store can't be read.
    """
    with LabelStore(state / state_files.FEEDBACK, make=False) as store:
        labels = store.journaled()
    words = dict(sorted(spoken(labels).items())[-most:])
    reader = _EntryReader(policy, own, shipped)
    with JournalPlacements(state / state_files.JOURNAL) as journal:
        told = _told_by_actions(state, journal, labels, words, now)
        for entry in journal.entries(list(words)):
            reader.take(entry, MessageLabel(spam=words[entry.id], sign=LabelSign.WORD))
        chosen = list(evenly(sorted(told), most - len(words)))
        for entry in journal.entries(chosen):
            reader.take(entry, told[entry.id])
    return reader.mail(len(words))


def _told_by_actions(
    state: Path,
    journal: JournalPlacements,
    labels: list[JournaledLabel],
    words: Mapping[int, bool],
    now: float,
) -> dict[int, MessageLabel]:
    """Return what people's actions tell of messages that nobody spoke of."""
    actions = PeoplesActions(labels, _opened(state), _contacts(state), now=now)
    people = actions.people
    if not people:
        return {}
    spoken_of = {label.journal for label in labels}
    moved = _moved(state)
    found = {}
    for placement in journal.since(0.0):
        if placement.id in words or placement.id in spoken_of or placement.id in moved:
            continue
        theirs = _people(placement.recipients) & people
        if theirs:
            author = mail_address(parseaddr(placement.header_from)[1])
            label = actions.label(
                MessagePlacement(
                    placement.id, placement.time, placement.filed, tuple(sorted(theirs)), ""
                ),
                author,
            )
            if label is not None:
                found[placement.id] = label
    return found


def _people(recipients: Iterable[str]) -> set[str]:
    addresses = set(map(mail_address, recipients))
    return {person for address in addresses for person in (address, untagged(address)) if person}


def _opened(state: Path) -> list[tuple[int, str, float]]:
    if not (state / state_files.EVENTS).exists():
        return []
    with EventLog(state / state_files.EVENTS, make=False) as log:
        return log.opened()


def _moved(state: Path) -> Collection[int]:
    """Return the messages that the second look moved: they lie where their reader did not find
    them at first.
    """
    if not (state / state_files.MOVES).exists():
        return ()
    moves = MoveStore(state / state_files.MOVES, make=False)
    try:
        return {move.message for move in moves.since(0.0) if move.state is MoveState.DONE}
    finally:
        moves.close()


def _contacts(state: Path) -> dict[str, dict[str, float]]:
    """Return when people first wrote to whom."""
    if not (state / state_files.PERSONS).exists():
        return {}
    found = defaultdict[str, dict[str, float]](dict)
    with PersonStore(state / state_files.PERSONS, make=False) as store:
        for person in store.persons():
            for entry in store.of(person).entries:
                if entry.side is EntryAction.CONTACT and entry.kind is PersonalEntryKind.ADDRESS:
                    found[person][entry.value] = entry.time
    return dict(found)


class _EntryReader:
    """Makes messages of entries.

    Args:
        policy: in force.
        own: the site's own model in force; None = there is none.
        shipped: what the model that adds to the rules may do now.
    """

    def __init__(self, policy: Policy, own: Forest | None, shipped: ShippedPart) -> None:
        self._policy = policy
        self._own = own
        self._shipped = shipped
        self._builder = ExampleBuilder(SCHEMA)
        self._groups = CampaignGroups()
        self._taken: list[SiteMessage] = []
        self._signs = defaultdict[str, set[int]](set)  # rule → which way it ever scored
        self._spoken: set[int] = set()  # campaigns
        self._contradicted = 0

    def take(self, entry: JournalEntry, label: MessageLabel) -> None:
        """Take a message; those of people's word first."""
        word = label.sign is LabelSign.WORD
        if not word and self._groups.find(pieces_of(entry.shingles)) in self._spoken:
            self._contradicted += 1
            return
        facts = facts_then(entry)
        if facts is None or entry.facts.get("client_own"):
            return
        plain, unkept = readable(facts)
        campaign = self._groups.of(entry.shingles)
        if word:
            self._spoken.add(campaign)
        self._taken.append(self._message(entry, plain, unkept, label, campaign))

    def mail(self, words: int) -> SiteMail:
        """Return all that were taken, with copies of one campaign weighing less.

        Args:
            words: messages of people's word that there were to be.
        """
        sizes = defaultdict[tuple[int, bool], int](int)
        for one in self._taken:
            sizes[one.campaign, one.example.spam] += 1
        messages = [
            msgspec.structs.replace(
                one,
                example=msgspec.structs.replace(
                    one.example,
                    weight=(1.0 if one.sign is not LabelSign.LEFT else OF_SILENCE)
                    / sqrt(sizes[one.campaign, one.example.spam]),
                ),
            )
            for one in sorted(self._taken, key=lambda one: one.ident)
        ]
        # a rule is not turned round, whatever silence says of those messages it fires for
        directions = {
            f"rule {name}": sign for name, signs in self._signs.items() for sign in signs
            if len(signs) == 1
        }  # fmt: skip
        return SiteMail(
            messages,
            self._builder.names,
            {"score": 1, "model.content": 1, **directions},
            words - sum(one.sign is LabelSign.WORD for one in messages),
            self._contradicted,
        )

    def _message(
        self,
        entry: JournalEntry,
        facts: Facts,
        unkept: frozenset[str],
        label: MessageLabel,
        campaign: int,
    ) -> SiteMessage:
        rules = [hit for hit in entry.rules if hit.name not in MODELS]
        seen = public_hits([hit for hit in rules if hit.name != KARMA], self._policy)
        live = [hit for hit in seen if hit.mode is RuleMode.LIVE and hit.score]
        for hit in live:
            self._signs[hit.name].add(1 if uncapped_hit(hit).score > 0 else -1)
        score = sum(hit.score for hit in live)
        shipped_odds, points = self._shipped.of(facts, seen)
        return SiteMessage(
            ident=entry.id,
            example=self._builder.example(
                facts,
                seen,
                name=to_text(entry.id),
                time=entry.time,
                spam=label.spam,
                score=score,
                unknown=unkept,
            ),
            sign=label.sign,
            campaign=campaign,
            rules=sum(hit.score for hit in rules if hit.mode is RuleMode.LIVE),
            hits=tuple(RuleHit(name=hit.name, score=hit.score, mode=hit.mode) for hit in live),
            shipped_odds=shipped_odds,
            added=points,
            own_odds=0.0 if self._own is None else self._own.odds(facts, seen, points),
        )
