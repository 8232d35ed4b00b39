"""An explanation as somebody may see it who may see some recipients alone."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from oborona.desk.messages.explanation import ExplanationChange, VerdictExplanation, VerdictSide
from oborona.desk.messages.refusal import RefusalExplanation
from oborona.journal.recipient_scope import HIDDEN, addresses_in, mask_hits, mask_words
from oborona.people.caller import Scope
from oborona.types import Finding

_OF_OTHERS: Final = frozenset({"recipients", "recipients.traps"})
"""Facts and features that count others."""
_OF_ONE: Final = frozenset({"recipient", "recipient.domain"})
"""Facts of the first recipient, who may be another."""


class ExplanationNarrowing:
    """What one message's explanation loses.

    Args:
        scope: whose mail may be seen.
        recipients: of the message, all of them.
        senders: texts whose addresses may be seen.
    """

    def __init__(self, scope: Scope, recipients: tuple[str, ...], *senders: str) -> None:
        self._scope = scope
        self._senders = senders
        known = addresses_in(*senders)
        # what has no @ is nobody's address, and part of other words
        names = {
            name
            for name in recipients
            if "@" in name and not scope.covers(name) and name.lower() not in known
        }
        self._hidden = re.compile(
            "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True)) or r"(?!)",
            re.IGNORECASE,
        )
        self._first = bool(recipients) and scope.covers(recipients[0])

    def message(self, explanation: VerdictExplanation) -> VerdictExplanation:
        """Return the explanation of a message without its other recipients."""
        covers = self._scope.covers
        return msgspec.structs.replace(
            explanation,
            recipients=tuple(filter(covers, explanation.recipients)),
            then=self._side(explanation.then),
            now=self._side(explanation.now),
            late=self._side(explanation.late),
            changed_facts=tuple(
                ExplanationChange(name=one.name, then=self.value(one.then), now=self.value(one.now))
                for one in explanation.changed_facts
                if self._tells(one.name)
            ),
            feedback=tuple(one for one in explanation.feedback if covers(one.person)),
            moves=tuple(
                msgspec.structs.replace(
                    one, why=self.words(one.why), because=self.words(one.because)
                )
                for one in explanation.moves
                if covers(one.recipient)
            ),
            final_model=self._model(explanation.final_model),
            shipped_model=self._model(explanation.shipped_model),
        )

    def words(self, text: str) -> str:
        """Return words of a rule without the addresses of others."""
        return mask_words(text, self._scope.covers, *self._senders)

    def value(self, value: Any) -> Any:
        """Return a fact without the other recipients of the message."""
        if isinstance(value, str):
            return self._hidden.sub(HIDDEN, value)
        return [self.value(one) for one in value] if isinstance(value, list | tuple) else value

    def _tells(self, fact: str) -> bool:
        return fact not in _OF_OTHERS and (self._first or fact not in _OF_ONE)

    def _side(self, side: VerdictSide | None) -> VerdictSide | None:
        if side is None:
            return None
        return msgspec.structs.replace(
            side,
            rules=mask_hits(side.rules, self._scope.covers, *self._senders),
            findings=tuple(
                Finding(finding.name, self._hidden.sub(HIDDEN, finding.evidence))
                for finding in side.findings
            ),
            facts={
                name: self.value(value) for name, value in side.facts.items() if self._tells(name)
            },
        )

    @staticmethod
    def _model(model: dict[str, Any] | None) -> dict[str, Any] | None:
        if model is None:
            return None
        parts = [part for part in model["parts"] if part["feature"] not in _OF_OTHERS]
        return model | {"parts": parts}


def narrow_refusal(refusal: RefusalExplanation, scope: Scope) -> RefusalExplanation:
    """Return the explanation of a refusal without the others that are counted with it."""
    return msgspec.structs.replace(
        refusal,
        rules=mask_hits(refusal.rules, scope.covers, refusal.sender),
        recipients=tuple(filter(scope.covers, refusal.recipients)),
        network="",
        times=1,
        named=1,
        first=refusal.time,
        last=refusal.time,
    )
