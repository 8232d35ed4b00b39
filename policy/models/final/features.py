"""What the final model sees of a message: numbers with names, each written as an expression over
the documented facts.

    text.words                    a number or condition; none is not a number, which trees know how
                                  to take
    len(links.domains)            how many there are
    spf.result == 'pass'          a text of a small vocabulary
    'zip' in attachments.kinds    a member of a set of a small vocabulary
    found('hidden-text')          a finding
    count[From].day.spam_share    what is counted of a piece
    rule MASS_TEXT                a rule, list or signature that fired, live or in shadow mode
    score                         what the live ones add up to

Trees take a number for larger or smaller than another, so that logarithms would change nothing.
Nothing that names the site, its people or the time is seen: a tree that learns "mail of last March"
has learned the folder that its mail came from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from oborona.errors import OboronaError
from oborona.policy.expression.schema import METRICS, WINDOWS, FactSchema, PieceKind
from oborona.policy.facts import Facts
from oborona.policy.private_rules import is_private
from oborona.types import RuleHit, RuleMode

SCORE: Final = "score"
NAME: Final = "FINAL_MODEL"  # of the hit of the site's own model
SHIPPED: Final = "SHIPPED_MODEL"  # of the hit of the one that comes with Oborona
MODELS: Final = frozenset({NAME, SHIPPED})  # hits of neither are seen by any
MAX_NAME: Final = 300  # characters of a feature's name
CATEGORIES: Final = (
    "arc.result",
    "client.country",
    "dmarc.disposition",
    "dmarc.policy",
    "dmarc.result",
    "iprev.result",
    "repip.flag",
    "spf.helo",
    "spf.result",
    "text.charset",
    "text.language",
)
"""Texts of a small vocabulary that is nobody's own."""
MEMBERS: Final = ("attachments.kinds", "dkim.results")
"""The same of sets."""
UNSEEN: Final = frozenset(
    {
        "client.as_number", "model.spam_learned", "model.ham_learned", "partial", "headers", "headers.count", "received.count",
        "rspamd.score", "rspamd.symbols", "spamd.score", "spamd.symbols",
    }
)  # fmt: skip
"""What names a network, or tells how long the site has been there, how its stores do, or which way
a message went to a mailbox; and what other engines say, whose columns stand beside ours.
"""
_OF_TIME: Final = ("date.", "time.")
LARGEST: Final = 1e30  # of a number: what is more is as much
_COUNTED: Final = (
    "AsNumber", "AttachmentChecksum", "ClientIp", "ClientNetwork", "Country", "DisplayName", "DkimDomain", "From", "FromDomain", "HeaderOrder",
    "Helo", "Mailer", "MailFrom", "MailFromDomain", "MessageIdDomain", "MimeTree", "Rdns", "RdnsDomain", "ReplyTo", "Skeleton", "Subject",
    "SubjectTemplate", "Template", "UrlDomain", "UrlHost",
)  # fmt: skip
_COUNTS: Final = (
    "day.seen",
    "day.spam_share",
    "fortnight.seen",
    "fortnight.spam_share",
    "fortnight.complaints",
)

_LENGTH: Final = re.compile(r"len\(([a-z0-9._]+)\)")
_IS: Final = re.compile(r"([a-z0-9._]+) == '([^'\x00-\x1f]{0,100})'")
_IN: Final = re.compile(r"'([^'\x00-\x1f]{0,100})' in ([a-z0-9._]+)")
_FOUND: Final = re.compile(r"found\('([a-z0-9-]{1,100})'\)")
_COUNT: Final = re.compile(r"count\[([A-Za-z0-9]+)\]\.([a-z]+)\.([a-z_]+)")
_RULE: Final = re.compile(r"rule ([^\x00-\x20]{1,200})")

Vector = NDArray[np.float32]


class UnknownFeature(OboronaError):  # noqa: N818 - reads as what happened
    """A model sees what is not known here; the text names it."""


def general(schema: FactSchema) -> tuple[str, ...]:
    """Return the features that every message has, in their order."""
    names = [SCORE]
    for fact in schema.facts:
        if fact.name in UNSEEN or fact.name.startswith(_OF_TIME) or is_private([fact.name]):
            continue
        if fact.kind in (PieceKind.NUMBER, PieceKind.CONDITION):
            names.append(fact.name)
        elif fact.kind is PieceKind.SET:
            names.append(f"len({fact.name})")
    counted = [name for name in _COUNTED if name in schema.by_type]
    return (*names, *(f"count[{name}].{count}" for name in counted for count in _COUNTS))


def particular(facts: Facts, hits: Iterable[RuleHit]) -> set[str]:
    """Return the features of one message that are 1 for it and 0 for those that lack them."""
    names = {f"rule {hit.name}" for hit in hits if hit.name not in MODELS}
    names |= {f"found('{name}')" for name in facts.findings}
    for name in CATEGORIES:
        text = getattr(facts, _attribute(name))
        if text is not None:
            names.add(f"{name} == '{text}'")
    for name in MEMBERS:
        names |= {f"'{member}' in {name}" for member in getattr(facts, _attribute(name)) or ()}
    return {name for name in names if len(name) <= MAX_NAME and _particular(name)}


def _particular(name: str) -> bool:
    return any(form.fullmatch(name) for form in (_RULE, _FOUND, _IS, _IN))


class FeatureReader:
    """Reads some features of a message.

    Args:
        names: of the features, in the order of the numbers.
        schema: the facts that are known.

    Raises:
        UnknownFeature: facts, counts or forms that are not known here; rules and findings may be
            any, and are 0 where they never come.
    """

    def __init__(self, names: Sequence[str], schema: FactSchema) -> None:
        self.names = tuple(names)
        self._scored: list[int] = []
        self._rules: dict[str, int] = {}
        self._findings: dict[str, int] = {}
        self._texts: dict[str, dict[str, int]] = {}
        self._sets: dict[str, dict[str, int]] = {}
        self._numbers: list[tuple[str, int]] = []
        self._lengths: list[tuple[str, int]] = []
        self._counts: list[tuple[int, Callable[[Facts], float | None]]] = []
        unknown = [
            name for place, name in enumerate(self.names) if not self._take(name, place, schema)
        ]
        if len(set(self.names)) < len(self.names):
            raise UnknownFeature("the model names a feature twice")
        if unknown:
            more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
            raise UnknownFeature(
                f"the model sees what is not known here: {', '.join(unknown[:5])}{more}"
            )
        self._of_numbers = _together([attribute for attribute, _ in self._numbers])
        self._number_places = [place for _, place in self._numbers]

    def _take(self, name: str, place: int, schema: FactSchema) -> bool:
        """Keep a feature in mind; return whether it is known."""
        facts = {
            fact.name: fact
            for fact in schema.facts
            if fact.name not in UNSEEN and not fact.name.startswith(_OF_TIME)
        }
        if name == SCORE:
            self._scored.append(place)
        elif match := _RULE.fullmatch(name):
            self._rules[match[1]] = place
        elif match := _FOUND.fullmatch(name):
            self._findings[match[1]] = place
        elif (match := _IS.fullmatch(name)) and match[1] in CATEGORIES and match[1] in facts:
            self._texts.setdefault(_attribute(match[1]), {})[match[2]] = place
        elif (match := _IN.fullmatch(name)) and match[2] in MEMBERS and match[2] in facts:
            self._sets.setdefault(_attribute(match[2]), {})[match[1]] = place
        elif (
            (match := _LENGTH.fullmatch(name))
            and match[1] in facts
            and facts[match[1]].kind is PieceKind.SET
        ):
            self._lengths.append((_attribute(match[1]), place))
        elif match := _COUNT.fullmatch(name):
            count = _count(match, schema)
            if count is None:
                return False
            if not is_private([name]):
                self._counts.append((place, count))
        elif name in facts and facts[name].kind in (PieceKind.NUMBER, PieceKind.CONDITION):
            if not is_private([name]):  # 0 in a model of a version that saw it
                self._numbers.append((_attribute(name), place))
        else:
            return False
        return True

    def read(self, facts: Facts, hits: Sequence[RuleHit]) -> Vector:
        """Return the numbers of a message; what is none is not a number."""
        values: list[float | None] = [0.0] * len(self.names)
        for place, number in zip(self._number_places, self._of_numbers(facts), strict=True):
            values[place] = number
        for place, count in self._counts:
            values[place] = count(facts)
        for attribute, place in self._lengths:
            members = getattr(facts, attribute)
            values[place] = None if members is None else len(members)
        _mark(values, self._findings, facts.findings)
        for attribute, places in self._sets.items():
            _mark(values, places, getattr(facts, attribute) or ())
        for attribute, places in self._texts.items():
            _mark(values, places, (getattr(facts, attribute),))
        _mark(values, self._rules, [hit.name for hit in hits])
        for place in self._scored:
            values[place] = sum(
                hit.score for hit in hits if hit.mode is RuleMode.LIVE and hit.name not in MODELS
            )
        # numpy takes none for not a number
        return np.clip(np.array(values, np.float64), -LARGEST, LARGEST).astype(np.float32)


def _mark(
    values: list[float | None], places: Mapping[str, int], names: Iterable[str | None]
) -> None:
    for name in names:
        place = places.get(name)  # type: ignore[arg-type]  # none is the name of nothing
        if place is not None:
            values[place] = 1.0


def _together(attributes: Sequence[str]) -> Callable[[Facts], tuple[float | None, ...]]:
    """Return what reads all attributes at once."""
    if len(attributes) == 1:
        only = attrgetter(attributes[0])
        return lambda facts: (only(facts),)
    return attrgetter(*attributes) if attributes else lambda _: ()


def _count(match: re.Match[str], schema: FactSchema) -> Callable[[Facts], float | None] | None:
    counted, window = schema.by_type.get(match[1]), WINDOWS.get(match[2])
    if counted is None or window is None:
        return None
    number = counted.number
    if match[3] == "spam_share":
        return lambda facts: facts.spam_share(number, window)
    metric = METRICS.get(match[3])
    return None if metric is None else lambda facts: facts.count(number, window, metric)


def _attribute(name: str) -> str:
    return name.replace(".", "_")
