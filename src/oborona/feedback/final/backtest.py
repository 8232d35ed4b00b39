"""Backtest: sorted mail is run through the real scan in the order in which it came, with what was
known at each message's time.

    for each message: scan, as the daemon would → remember its features → count it by its verdict →
    apply the labels of earlier messages

A label teaches the content model and, if the verdict was wrong, counts as a complaint or a pardon.
Every message is judged before anything of it is counted or learned, so that its facts are those of
live mail.  The network is not asked: today's DNS does not answer as it did for old mail.
"""

from __future__ import annotations

import random
import re
from collections import deque
from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from oborona.counters.memory import MemoryCounters
from oborona.feedback.feature_layout import layout
from oborona.feedback.final.meaning import BacktestMeaningModel, Encode
from oborona.feedback.label import LabelKind, TrainingExample
from oborona.feedback.training_state import TrainingState
from oborona.message.model import Message
from oborona.policy.accounting import record_verdict
from oborona.policy.evidence import NoInquiry
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import Policy
from oborona.policy.local_clients import direction
from oborona.policy.models.content.features import ContentFeatures, features
from oborona.policy.models.content.weights import Weights
from oborona.policy.models.final.examples import ExampleBuilder, FinalExample
from oborona.policy.models.meaning import NoMeaningModel
from oborona.policy.models.opinion import ContentOpinion
from oborona.policy.models.ports import NoModels
from oborona.policy.scan import Scan, ScanSite, scan
from oborona.types import Action, Amounts, CountedPieces, Envelope

# Restores a message to the form in which it was received, as far as the mailbox copy shows it.
#
# Headers that are added after delivery tell the mailbox and often the verdict of a filter, ours
# included.  A model that is trained on them learns the answer instead of the mail, and a scan never
# sees them.

_FIELD: Final = re.compile(rb"([!-9;-~]+)[ \t]*:([^\n]*(?:\n[ \t][^\n]*)*)\n?")
_FETCHED: Final = re.compile(
    rb"(?i)fetchmail|getmail|with (?:pop|imap)|single-drop"
)  # a hop that is not SMTP's
_DELIVERED: Final = frozenset({b"return-path", b"delivered-to", b"x-original-to", b"envelope-to"})
_KEPT_BY_MAILBOXES: Final = re.compile(
    rb"(?:status|x-status|x-uid(?:l)?|x-keywords|lines|content-length|x-evolution.*|x-mozilla.*|x-imap.*|x-pstn.*|x-gmane.*|"
    rb"x-sieve|x-spam.*|x-bogosity|x-virus.*|x-mras.*|x-gm-.*|x-original.*|x-folder|x-label|replied|forwarded|xref)"
)


def undo_delivery(raw: bytes) -> bytes:
    """Return a message as it was before it was delivered, with plain line ends.

    Fields are written above those that are there already: everything down to the last trace of a
    delivery (Return-Path, Delivered-To, a hop by fetchmail) goes, wherever it stands also what
    mailboxes and filters have noted.
    """
    raw = raw.replace(b"\r\n", b"\n")
    header_fields = list(fields(raw))
    if not header_fields:
        return raw
    last = 0
    for number, match in enumerate(header_fields, 1):
        name = match[1].lower()
        if name in _DELIVERED or (name == b"received" and _FETCHED.search(match[2])):
            last = number
    original = [
        match[0]
        for match in header_fields[last:]
        if not _KEPT_BY_MAILBOXES.fullmatch(match[1].lower())
    ]
    return b"".join(original) + raw[header_fields[-1].end() :]


def fields(raw: bytes) -> Iterator[re.Match[bytes]]:
    """Yield the fields of a header with plain line ends: name, value."""
    place = raw.find(b"\n") + 1 if raw.startswith(b"From ") else 0
    while match := _FIELD.match(raw, place):
        yield match
        place = match.end()


SEED: Final = 1  # of who says a word
SPACING_S: Final = 60.0  # between messages of which nobody knows when they came
_NOBODY: Final = Envelope()  # of old mail: who sent it is not known any more
BEGINNING: Final = 1_700_000_000.0  # Unix seconds: any moment will do


class SortedMessage(NamedTuple):
    """A message with its label."""

    name: str
    raw: bytes
    spam: bool
    time: float  # Unix seconds at which it came; 0 = not known


class _Word(NamedTuple):
    """What people will say of a message."""

    due: int  # after so many messages
    spam: bool
    features: ContentFeatures
    pieces: CountedPieces
    action: Action


class BacktestResult(msgspec.Struct, frozen=True, kw_only=True):
    """The scan result of a message."""

    scan: Scan
    example: FinalExample
    opinion: ContentOpinion


class BacktestContentModel(NoModels):
    """The content model that is taught during a backtest.

    Silent until it has learned `least` messages of each kind.
    """

    def __init__(self, least: int) -> None:
        self._least = least
        self._weights = Weights.new()
        self._course = TrainingState(self._weights)
        self._learned = 0

    def read(self, message: Message, envelope: Envelope) -> ContentOpinion:
        """Return what it says of a message; see `ContentModel.read`."""
        course, margin = self._course, self._weights.margin(features(message))
        speaks = min(course.spam, course.ham) >= self._least
        return ContentOpinion(
            probability=course.calibration.probability(margin) if speaks else None,
            margin=margin,
            spam_learned=course.spam,
            ham_learned=course.ham,
        )

    def learn(self, known_features: ContentFeatures, *, spam: bool) -> None:
        """Take people's word about a message."""
        self._learned += 1
        kind = LabelKind.SPAM if spam else LabelKind.HAM
        self._course.take(
            TrainingExample(self._learned, kind, "", 1.0, layout(), known_features.to_bytes())
        )


class Backtest:
    """One run of sorted mail through the scan.

    Args:
        site: of the scans; its counters and models are left as they are, and not asked.
        policy: the rules.
        delay: further messages that come before people's word about one does.
        share: of messages that people say a word about, 0..1.
        least: messages of each kind that are learned before the content model speaks.
        encode: returns the numbers of a message's meaning; None = nobody looks at that.
    """

    def __init__(
        self,
        site: ScanSite,
        policy: Policy,
        *,
        delay: int,
        share: float,
        least: int,
        encode: Encode | None = None,
    ) -> None:
        self._counters = MemoryCounters()
        self._content = BacktestContentModel(least)
        self._meanings = None if encode is None else BacktestMeaningModel(encode)
        self._site = msgspec.structs.replace(
            site,
            counters=self._counters,
            content=self._content,
            final=NoModels(),
            meanings=self._meanings or NoMeaningModel(),
        )
        self._policy = policy
        self._delay = delay
        self._share = share
        self._chance = random.Random(SEED)  # noqa: S311 - the same mail is told of each time
        self._waiting: deque[_Word] = deque()
        self._number = 0
        self._now = BEGINNING
        self.observer = ExampleBuilder(SCHEMA)

    async def take(self, mail: SortedMessage) -> BacktestResult:
        """Judge a message, then count it, then hear people's word of those that are due."""
        self._now = max(self._now, mail.time) if mail.time else self._now + SPACING_S
        if self._number == 0 and mail.time:
            self._now = mail.time
        result = await scan(
            undo_delivery(mail.raw), _NOBODY, self._site, self._policy, NoInquiry(), now=self._now
        )
        example = self.observer.example(
            result.facts,
            result.verdict.rules,
            name=mail.name,
            time=mail.time,
            spam=mail.spam,
            score=result.verdict.score,
        )
        if self._meanings is not None:
            await self._meanings.learn(result.message, spam=mail.spam)
        record_verdict(
            result.pieces,
            result.verdict,
            self._counters,
            now=self._now,
            prefix=direction(_NOBODY),
        )
        self._number += 1
        if self._chance.random() < self._share:
            message_features, action = features(result.message), result.verdict.action
            self._waiting.append(
                _Word(
                    self._number + self._delay, mail.spam, message_features, result.pieces, action
                )
            )
        while self._waiting and self._waiting[0].due <= self._number:
            self._hear(self._waiting.popleft())
        return BacktestResult(scan=result, example=example, opinion=result.opinion)

    def meaning(self) -> NDArray[np.float32] | None:
        """Return the weights of the model on meaning that all mail gives.

        None where nobody looked, or it is too little.
        """
        return None if self._meanings is None else self._meanings.fitted()

    def _hear(self, word: _Word) -> None:
        self._content.learn(word.features, spam=word.spam)
        judged_spam = word.action in (Action.SPAM, Action.REJECT)
        if judged_spam is not word.spam:
            amounts = Amounts(complaints=1) if word.spam else Amounts(pardons=1)
            self._counters.add(
                CountedPieces(shingles=word.pieces.shingles, pairs=()),
                amounts,
                self._now,
                direction(_NOBODY),
            )
