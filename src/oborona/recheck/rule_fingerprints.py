"""The fingerprint of each rule of a policy: equal fingerprints ask the same question; pure.

It covers the rule itself and all rules and conditions that it names, directly or through others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import blake2b
from typing import Final

from oborona.policy.load import Policy
from oborona.policy.rules import Condition, Rule

DIGITS: Final = 12  # hexadecimal: two questions of one rule that share a hash would be one in 10^14
_NAME: Final = re.compile(r"\b[A-Z][A-Z0-9_]*\b")


def rule_fingerprints(policy: Policy) -> Mapping[str, str]:
    """Return a hash of what each rule asks, by name.

    Its score, unless that is a formula, its mode and its words are no part of that.

    A rule of a script asks the same only under the same policy.
    """
    pieces, named = _pieces(policy), rule_dependencies(policy)
    own = {name: _own(piece, policy.version) for name, piece in pieces.items()}
    # whether another sees a rule is a matter of that rule's mode, too
    visible = {name: f"{own[name]}\0{getattr(piece, 'mode', '')}" for name, piece in pieces.items()}
    return {
        name: _hash(
            "\0".join([own[name], *(visible[dependency] for dependency in sorted(named[name]))])
        )
        for name, piece in pieces.items()
        if isinstance(piece, Rule)
    }


def rule_dependencies(policy: Policy) -> Mapping[str, frozenset[str]]:
    """Return, of each rule and condition, the names of the rules and conditions that it hangs on,
    by way of others, too.

    Any word of a rule that is another's name counts: what is found too much is only told as not
    judged.
    """
    pieces = _pieces(policy)
    direct = {
        name: frozenset(_NAME.findall(_own(piece, policy.version))) & pieces.keys() - {name}
        for name, piece in pieces.items()
    }

    def all_of(name: str) -> frozenset[str]:
        reached = set(direct[name])
        waiting = list(reached)
        while waiting:
            more = direct[waiting.pop()] - reached
            reached |= more
            waiting += more
        return frozenset(reached - {name})

    return {name: all_of(name) for name in pieces}


def _pieces(policy: Policy) -> dict[str, Rule | Condition]:
    rules = {rule.name: rule for rule in policy.rules if rule.enabled}
    return {**{condition.name: condition for condition in policy.conditions}, **rules}


def _own(piece: Rule | Condition, version: str) -> str:
    if isinstance(piece, Condition):
        return piece.when
    if piece.scripted:  # what its function does is told by no text of the rule
        return version
    formula = piece.score if isinstance(piece.score, str) else ""
    return f"{piece.stage}\0{piece.when}\0{formula}"


def _hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGITS // 2).hexdigest()
