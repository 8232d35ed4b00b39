"""What a table of facts is made of."""

from __future__ import annotations

from typing import Final, NamedTuple

from oborona.policy.expression.forms import Form
from oborona.policy.expression.schema import Fact, FactType
from oborona.types import Stage

Words = frozenset[str]
SHARE: Final = "share 0 to 1"


class Area(NamedTuple):
    """Facts of one kind, under one heading of the reference."""

    title: str
    facts: tuple[Fact, ...]


def fact(
    name: str,
    kind: FactType,
    stage: Stage,
    doc: str,
    *,
    example: object,
    unit: str = "",
    words: tuple[str, ...] = (),
    optional: bool = False,
    form: Form = Form.SENT,
    longest: int = 0,
) -> Fact:
    """Return one row of a table.

    Args:
        name: dotted.
        kind: its type.
        stage: from which it is known.
        doc: one line.
        example: a value that it may have.
        unit: what it is measured in.
        words: the only ones that it may be, or hold; none given: any.
        optional: it may be unknown: `none`.
        form: how its texts are written; what rules compare with them is brought into it.
        longest: characters of the longest; 0: as many as there are.
    """
    return Fact(
        name=name,
        type=kind,
        stage=stage,
        doc=doc,
        unit=unit or ", ".join(words),
        example=example,
        optional=optional,
        words=tuple(map(str, words)),
        form=form,
        longest=longest,
    )
