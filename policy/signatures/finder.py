"""The signatures found in a message, and the words in which they are reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol

import msgspec

from oborona.message.model import Message
from oborona.policy.expression.template import printable
from oborona.policy.signatures.model import Signature, SignatureFlag
from oborona.policy.text import quoted
from oborona.types import RuleHit, RuleMode

MAX_TOLD: Final = 3  # signatures that are named in one reason; several share a header line
MAX_MARKS: Final = 9  # of one list that are counted: a rule that wants more has too short a list
MAX_OWN: Final = 20  # with a score of their own, as rules of a message; weightiest first
_VALUE: Final = 40  # characters of what it looks for
_WHO: Final = 20
_WHY: Final = 60
OWN_PREFIX: Final = "SIGNATURE_"  # before the id, where a signature is its own rule


class SignatureMatches(msgspec.Struct, frozen=True, kw_only=True):
    """The signatures of one message, each once, those with other flags and modes apart."""

    signatures: tuple[Signature, ...] = ()

    def all_of(self, flag: SignatureFlag) -> tuple[Signature, ...]:
        """Return the live ones of a flag that leave their score to the rules."""
        return tuple(
            signature
            for signature in self.signatures
            if signature.flag is flag
            and signature.mode is RuleMode.LIVE
            and signature.score is None
        )

    @property
    def marks(self) -> frozenset[str]:
        """The lists of live marks that were found, or their own names.

        NAME:2 to NAME:9 where so many of a list were.
        """
        names = Counter(
            signature.id.partition(":")[0]
            for signature in self.signatures
            if signature.flag is SignatureFlag.MARK and signature.mode is RuleMode.LIVE
        )
        more = (
            f"{name}:{n}"
            for name, times in names.items()
            for n in range(2, min(times, MAX_MARKS) + 1)
        )
        return frozenset((*names, *more))

    @property
    def marked(self) -> str:
        """What those are: `"next of kin", "transfer the sum", 3 more`; empty for none."""
        values = [
            f'"{quoted(signature.value, _VALUE)}"'
            for signature in self.signatures
            if signature.flag is SignatureFlag.MARK and signature.mode is RuleMode.LIVE
        ]
        more = f", {len(values) - MAX_TOLD} more" if len(values) > MAX_TOLD else ""
        return printable(", ".join(values[:MAX_TOLD]) + more)

    @property
    def owners(self) -> frozenset[str]:
        """Who answers for the live ones."""
        return frozenset(
            signature.owner
            for signature in self.signatures
            if signature.mode is RuleMode.LIVE and signature.owner
        )

    @property
    def hits(self) -> list[RuleHit]:
        """Those that are a rule of their own: with a score of their own, or in shadow mode."""
        own = [
            signature
            for signature in self.signatures
            if signature.mode is RuleMode.SHADOW or signature.score is not None
        ]
        own.sort(key=lambda signature: -abs(signature.score or 0.0))
        return [
            RuleHit(
                name=rule_name(signature),
                score=signature.score or 0.0,
                say=printable(_describe(signature)),
                mode=signature.mode,
            )
            for signature in own[:MAX_OWN]
        ]


class SignatureFinder(Protocol):
    """Finds signatures in messages."""

    def find(self, message: Message, now: float) -> SignatureMatches:
        """Return those in force that a message has; never raises.

        Args:
            message: parsed.
            now: Unix seconds: those that expired before are not found.
        """
        ...


class Signatures(Protocol):
    """The signatures of a site."""

    def under(self, files: Mapping[str, Signature]) -> SignatureFinder:
        """Return what finds those that are in force with a policy.

        Args:
            files: the signatures of the policy that the message is judged by, as the policy has
                them.
        """
        ...


def marking_line(signatures: Sequence[Signature]) -> str:
    """Return who marks a message and why, in one printable line:
    `s42 "cheap pills" by anna: pharma campaign`.
    """
    more = f"; {len(signatures) - MAX_TOLD} more" if len(signatures) > MAX_TOLD else ""
    return printable(
        "; ".join(f"{signature.id} {_describe(signature)}" for signature in signatures[:MAX_TOLD])
        + more
    )


def rule_name(signature: Signature) -> str:
    """Return the name of a signature that is a rule of its own."""
    return OWN_PREFIX + signature.id.upper().replace(":", "_")


def _describe(signature: Signature) -> str:
    author = (
        f" by {quoted(signature.owner or signature.author, _WHO)}"
        if signature.owner or signature.author
        else ""
    )
    why = f": {quoted(signature.reason, _WHY)}" if signature.reason else ""
    kind = "" if signature.kind == "phrase" else f"{signature.kind} "
    return f'{kind}"{quoted(signature.value, _VALUE)}"{author}{why}'


def in_id_order(signatures: Iterable[Signature]) -> tuple[Signature, ...]:
    """Return signatures in the order of their ids, so that the same message says the same whatever
    was found first.
    """
    return tuple(sorted(signatures, key=lambda signature: (len(signature.id), signature.id)))
