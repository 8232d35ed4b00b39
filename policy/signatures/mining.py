"""Mines signatures to propose: what messages marked as spam have in common, and good mail has not.

Words in a row are counted once for each message, longer ones only if both of their shorter parts
are frequent (the rule of Apriori); one that stands in as many messages as a longer one around it is
left to that (closed sequences). Then the best is taken, the messages that it covers are put aside,
and so on: a few signatures cover a campaign, instead of hundreds that say the same.

Limits: of a text the first `MAX_TEXT_WORDS` words; sequences of up to `LONGEST` words.

Source: R. Agrawal, R. Srikant, "Mining Sequential Patterns", ICDE 1995; X. Yan et al., "CloSpan",
SDM 2003.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from oborona.message.model import Message
from oborona.message.normalise import normalise
from oborona.policy.signatures.check import BrokenSignature, Entity, check_signature
from oborona.policy.signatures.fields import SearchFields
from oborona.policy.signatures.model import Signature, SignatureFlag, SignatureKind, SignatureScope
from oborona.policy.signatures.words import words

MAX_MESSAGES: Final = 1_000  # of spam that are looked at
MAX_TEXT_WORDS: Final = 1_500  # of a text: what a campaign sells stands before
SHORTEST: Final = 4  # words of a phrase; fewer are everybody's
SHORTEST_UNCHECKED: Final = 6  # where there is no good mail to compare with
LONGEST: Final = 12  # words: a longer one breaks at the next change of the campaign
LEAST: Final = 3  # messages that must have it: two may be one, sent twice
LEAST_SHARE: Final = 0.02  # of the messages
MAX_CANDIDATES: Final = 20_000  # that good mail is asked about
MAX_PROPOSED: Final = 50
_LONG_ENOUGH: Final = 6  # words from which a phrase gets no better by more of them
_ENTITIES: Final = frozenset(
    {
        SignatureKind.DOMAIN,
        SignatureKind.HOST,
        SignatureKind.PHONE,
        SignatureKind.ADDRESS,
        SignatureKind.WALLET,
        SignatureKind.HANDLE,
        SignatureKind.CHECKSUM,
        SignatureKind.LIST,
    }
)
_WORTH: Final = 8  # an entity, in words: dearer to change than a phrase

Piece = tuple[SignatureKind, SignatureScope, str]


class SignatureProposal(msgspec.Struct, frozen=True, kw_only=True):
    """A signature that would find some of the spam."""

    signature: Signature  # its id, owner and reason are for the caller to say
    support: int  # messages of the spam that have it
    fresh: int  # of them those that no better proposal covers
    of: int  # messages of the spam


def propose_signatures(
    spam: Sequence[Message],
    *,
    checked_by_ham: bool,
    allowed: Callable[[Sequence[SignatureProposal]], Iterable[SignatureProposal]],
    most: int = MAX_PROPOSED,
) -> list[SignatureProposal]:
    """Return the signatures that cover spam, the best first.

    Args:
        spam: parsed; the first `MAX_MESSAGES` are looked at.
        checked_by_ham: good mail will be asked; else only long phrases are proposed.
        allowed: gets what would find enough spam, in the order of merit, and returns what good mail
            has not.
        most: proposals at most.
    """
    spam = spam[:MAX_MESSAGES]
    least = max(LEAST, round(len(spam) * LEAST_SHARE))
    having: dict[Piece, frozenset[int]] = {}
    shortest = SHORTEST if checked_by_ham else SHORTEST_UNCHECKED
    for where, texts in (
        (SignatureScope.TEXT, [_words(message.normal_text) for message in spam]),
        (SignatureScope.SUBJECT, [_words(normalise(message.subject)) for message in spam]),
    ):
        for sequence, messages in closed_sequences(texts, least, shortest).items():
            having[SignatureKind.PHRASE, where, " ".join(sequence)] = messages
    for (kind, value), messages in _entities(spam, least).items():
        having[kind, SignatureScope.ANY, value] = messages
    candidates = [
        SignatureProposal(signature=one, support=len(messages), fresh=len(messages), of=len(spam))
        for number, (piece, messages) in enumerate(having.items(), 1)
        if (one := _signature(piece, number)) is not None
    ]
    candidates.sort(key=_rank)
    left = list(allowed(candidates[:MAX_CANDIDATES]))
    return _covering(left, having, most)


def closed_sequences(
    texts: Sequence[Sequence[str]], least: int, shortest: int
) -> dict[tuple[str, ...], frozenset[int]]:
    """Return the words in a row that stand in `least` texts and more, and in which texts, without
    those that a longer one implies.

    Args:
        texts: in words.
        least: texts that must have it, at least 1.
        shortest: words of a sequence, at least 2.
    """
    # where a pair of words begins
    starts: list[set[int]] = [set(range(len(text) - 1)) for text in texts]
    phrases: dict[tuple[str, ...], frozenset[int]] = {}
    longer: dict[tuple[str, ...], frozenset[int]] = {}
    for length in range(2, LONGEST + 1):
        having: dict[tuple[str, ...], set[int]] = defaultdict(set)
        for number, (text, places) in enumerate(zip(texts, starts, strict=True)):
            for place in places:
                having[tuple(text[place : place + length])].add(number)
        shorter, longer = (
            longer,
            {
                sequence: frozenset(numbers)
                for sequence, numbers in having.items()
                if len(numbers) >= least
            },
        )
        implied = {
            part for sequence, numbers in longer.items() for part in (sequence[1:], sequence[:-1])
            if len(shorter.get(part, ())) == len(numbers)
        }  # fmt: skip
        if length > shortest:
            phrases.update(
                (phrase, numbers) for phrase, numbers in shorter.items() if phrase not in implied
            )
        if not longer:
            break
        for number, (text, places) in enumerate(zip(texts, starts, strict=True)):
            frequent = {place for place in places if tuple(text[place : place + length]) in longer}
            starts[number] = {
                place for place in frequent if place + 1 in frequent and place + length < len(text)
            }
    else:
        phrases.update(longer)
    return phrases


def _words(normal: str) -> list[str]:
    return words(normal).decode("utf-8", "surrogatepass").split()[:MAX_TEXT_WORDS]


def _entities(spam: Sequence[Message], least: int) -> dict[Entity, frozenset[int]]:
    having: dict[Entity, set[int]] = defaultdict(set)
    for number, message in enumerate(spam):
        registered = {link.domain for link in message.links}
        for (kind, value), header in SearchFields(message, headers=False).entities():
            if (
                header
                or kind not in _ENTITIES
                or (kind is SignatureKind.DOMAIN and value not in registered)
            ):
                continue
            having[kind, value].add(number)
    phrase = {
        phrase: frozenset(numbers) for phrase, numbers in having.items() if len(numbers) >= least
    }
    for kind, value in list(phrase):
        # a host that is its domain, or all there is of it, says no more than the domain
        if kind is SignatureKind.HOST and any(
            phrase.get((SignatureKind.DOMAIN, value[place:])) == phrase[kind, value]
            for place in (0, *(at + 1 for at, letter in enumerate(value) if letter == "."))
        ):
            del phrase[kind, value]
    return phrase


def _signature(piece: Piece, number: int) -> Signature | None:
    """Return the signature for a piece; None for one that is too short to be one."""
    kind, where, value = piece
    try:
        return check_signature(
            Signature(id=f"s{number}", flag=SignatureFlag.SPAM, kind=kind, where=where, value=value)
        )
    except BrokenSignature:
        return None


def _worth(proposal: SignatureProposal) -> int:
    if proposal.signature.kind is not SignatureKind.PHRASE:
        return _WORTH
    return min(_LONG_ENOUGH, proposal.signature.value.count(" ") + 1)


def _rank(proposal: SignatureProposal) -> tuple[int, str]:
    return -proposal.fresh * _worth(proposal), proposal.signature.value


def _covering(
    candidates: list[SignatureProposal], having: dict[Piece, frozenset[int]], most: int
) -> list[SignatureProposal]:
    """Return the candidates that together cover the spam, the one that covers most of what is left
    first.
    """
    covered: Counter[int] = Counter()
    chosen: list[SignatureProposal] = []
    while candidates and len(chosen) < most:
        counted = [
            msgspec.structs.replace(
                candidate,
                fresh=sum(not covered[number] for number in having[_piece(candidate)]),
            )
            for candidate in candidates
        ]
        counted = [candidate for candidate in counted if candidate.fresh >= LEAST]
        if not counted:
            break
        best = min(counted, key=_rank)
        chosen.append(best)
        covered.update(having[_piece(best)])
        candidates = [
            candidate for candidate in counted if candidate.signature is not best.signature
        ]
    return chosen


def _piece(proposal: SignatureProposal) -> Piece:
    signature = proposal.signature
    return signature.kind, signature.where, signature.value
