"""What a month came to: who was stopped, who was wronged, and by what."""

from __future__ import annotations

from collections import Counter
from typing import Final

import msgspec

from benchmarks.outgoing.letter import DAY_S, Letter, Sender
from benchmarks.outgoing.site import Answer
from benchmarks.outgoing.world import LEARNING
from oborona.policy.outgoing_table import OutgoingOutcome

SOON_S: Final = 600.0


class Spree(msgspec.Struct):
    """What one spammer did.

    Attributes:
        kind: of the spammer.
        tried: messages.
        left: of them.
        recipients_left: of these.
        excess: when the first limit was passed, or a mailing held; None: never.
        late: messages that left more than ten minutes after that.
    """

    kind: str
    tried: int = 0
    left: int = 0
    recipients_left: int = 0
    excess: float | None = None
    late: int = 0

    @property
    def stopped(self) -> bool:
        """Whether nothing left from ten minutes after the first excess on, to the month's end."""
        return self.excess is not None and not self.late


class Figures(msgspec.Struct):
    """What a month came to."""

    sent: int = 0  # messages of respectable senders
    held: Counter[str] = msgspec.field(default_factory=Counter)  # of them, by what held them
    held_of: dict[str, Counter[str]] = msgspec.field(default_factory=dict)  # by kind of sender
    refused: Counter[str] = msgspec.field(default_factory=Counter)  # or put off, by state
    wronged: dict[str, set[str]] = msgspec.field(default_factory=dict)  # accounts, by state
    sprees: dict[str, Spree] = msgspec.field(default_factory=dict)

    def note(self, sender: Sender, letter: Letter, answer: Answer) -> None:
        """Take a message into account, and what became of it."""
        if letter.at < LEARNING * DAY_S:
            return
        if sender.spam:
            self._spam(sender, letter, answer)
        elif sender.kind != "warming":
            self._good(sender, letter, answer)

    def _good(self, sender: Sender, letter: Letter, answer: Answer) -> None:
        self.sent += 1
        if answer.outcome is OutgoingOutcome.ACCEPT:
            return
        if answer.outcome is OutgoingOutcome.HOLD:
            self.held[answer.by] += 1
            self.held_of.setdefault(sender.kind, Counter())[answer.by] += 1
            return
        self.refused[answer.by] += 1
        self.wronged.setdefault(answer.by, set()).add(letter.login)

    def _spam(self, sender: Sender, letter: Letter, answer: Answer) -> None:
        spree = self.sprees.setdefault(sender.name, Spree(kind=sender.kind))
        spree.tried += 1
        if answer.passed and spree.excess is None:
            spree.excess = letter.at
        if answer.outcome is not OutgoingOutcome.ACCEPT:
            return
        spree.left += 1
        spree.recipients_left += len(letter.recipients)
        if spree.excess is not None and letter.at > spree.excess + SOON_S:
            spree.late += 1
