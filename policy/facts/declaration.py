"""What a field declares of a fact beside type and empty value; the facts that a struct declares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from types import UnionType
from typing import Any, Final, NamedTuple, get_args

import msgspec

from oborona.policy.expression.forms import TextForm
from oborona.policy.expression.schema import Fact
from oborona.toml import hints
from oborona.types import Stage

Words = frozenset[str]
SHARE: Final = "share 0 to 1"
POINTS: Final = "points, -100 to 100"


class FactArea(Enum):
    """The headings of the reference, in its order."""

    CLIENT = "Client"
    SENDER = "Sender and recipient"
    TIME = "Time"
    AUTHENTICATION = "Authentication"
    MESSAGE = "Message and header"
    TEXT = "Text"
    LINKS = "Links and contacts"
    FILES = "Attachments and pictures"
    REPUTATION = "Reputation"
    SIGNATURES = "Signatures"
    MODELS = "Models"
    ENGINES = "Other engines"
    MASS = "Near-duplicates"


class FactDeclaration(NamedTuple):
    """What the annotation of a field says of a fact, behind its type; `X | None` may be unknown."""

    area: FactArea
    stage: Stage  # from which it is known
    name: str  # dotted; its field has underscores
    doc: str  # one line
    example: object  # a value that it may have
    unit: str = ""  # what it is measured in; empty: its words
    words: tuple[str, ...] = ()  # the only ones that it may be, or hold; none given: any
    form: TextForm = TextForm.SENT  # how its texts are written; rules' words are brought into it
    longest: int = 0  # characters of its longest text; 0: as many as there are
    kept: bool = True  # in the journal, among the facts
    before: str = ""  # the fact before which the reference has it; empty: as its field


class DeclaredFact(NamedTuple):
    """A fact of a struct."""

    attribute: str
    declaration: FactDeclaration
    fact: Fact  # as expressions know it


def declared(struct: type[msgspec.Struct]) -> Iterator[DeclaredFact]:
    """Yield the facts of a struct in the order of its fields; others have no declaration.

    Raises:
        ValueError: a fact has another name than its field.
    """
    for attribute, annotation in hints(struct).items():
        for declaration in getattr(annotation, "__metadata__", ()):
            fact = _fact(declaration, annotation.__origin__)
            if fact.attribute != attribute:
                raise ValueError(f"{fact.name!r} is declared as {attribute!r}")
            yield DeclaredFact(attribute, declaration, fact)


def by_area(facts: Iterable[DeclaredFact]) -> Mapping[FactArea, Sequence[Fact]]:
    """Return facts in the order of the reference."""
    areas: dict[FactArea, list[Fact]] = {area: [] for area in FactArea}
    for _, declaration, fact in facts:
        row = areas[declaration.area]
        names = [fact.name for fact in row]
        row.insert(names.index(declaration.before) if declaration.before else len(row), fact)
    return areas


def _fact(declaration: FactDeclaration, annotation: Any) -> Fact:
    optional = isinstance(annotation, UnionType)
    (kind,) = (
        (member for member in get_args(annotation) if member is not type(None))
        if optional
        else (annotation,)
    )
    words = tuple(map(str, declaration.words))
    return Fact(
        name=declaration.name,
        type=kind,
        stage=declaration.stage,
        doc=declaration.doc,
        unit=declaration.unit or ", ".join(words),
        example=declaration.example,
        optional=optional,
        words=words,
        form=declaration.form,
        longest=declaration.longest,
    )
