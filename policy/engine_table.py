"""The `[engines]` table: the meaning of other engines' opinions, and the action on them.

This is the only list of its keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from oborona.errors import PolicyError
from oborona.policy.named_tables import refuse
from oborona.toml import GivenValue

EngineName = Literal["rspamd", "spamd", "clamd"]
Done = Literal["accept", "spam", "reject"]
Row = tuple[Done, Done, Done]
MAX_NAMES: Final = 100  # actions, or beginnings of names

_ROW: Final = {
    "allowed": (
        'three of "accept", "spam" and "reject" in brackets, for others that say good, '
        "perhaps, certain"
    )
}
_ENGINES: Final = {"allowed": 'names of engines in brackets: "rspamd", "spamd", "clamd"'}
_TEXTS: Final = {"allowed": "texts in brackets"}
_Text = Annotated[str, Meta(min_length=1, max_length=100)]
_SEVERITY: Final = ("accept", "spam", "reject")
_ROWS: Final = ("ours_good", "ours_perhaps", "ours_certain")


class EnginesTable(msgspec.Struct, frozen=True, kw_only=True):
    """The `[engines]` table: what is done where other engines look at the same message
    (docs/mail-servers/engines.md).
    """

    ours_good: Annotated[
        Row,
        Meta(
            description=(
                "What is done with a message that we would accept, where the severest of the "
                "others says good, perhaps, certain."
            ),
            extra=_ROW,
        ),
    ] = ("accept", "spam", "reject")
    ours_perhaps: Annotated[
        Row, Meta(description="The same of one that is spam to us.", extra=_ROW)
    ] = (
        "spam",
        "spam",
        "reject",
    )
    ours_certain: Annotated[
        Row, Meta(description="The same of one that we would refuse.", extra=_ROW)
    ] = (
        "reject",
        "reject",
        "reject",
    )
    never_refuse: Annotated[
        tuple[EngineName, ...],
        Meta(
            description="Engines that are never certain: what they are counts as perhaps.",
            extra=_ENGINES,
        ),
    ] = ()
    shadow: Annotated[
        tuple[EngineName, ...],
        Meta(
            description="Engines on trial: told, a fact for rules, and no column of the table.",
            extra=_ENGINES,
        ),
    ] = ()
    own: Annotated[
        tuple[EngineName, ...],
        Meta(
            description="Engines that are asked about mail of our own people, too.", extra=_ENGINES
        ),
    ] = ("clamd",)
    rspamd_certain: Annotated[
        tuple[_Text, ...],
        Meta(
            max_length=MAX_NAMES,
            description="Actions of rspamd that stand for certain.",
            extra=_TEXTS,
        ),
    ] = ("reject", "discard")
    rspamd_perhaps: Annotated[
        tuple[_Text, ...],
        Meta(
            max_length=MAX_NAMES,
            description=(
                "Actions of rspamd that stand for perhaps; all others, `greylist` and `soft "
                "reject` among them, for good."
            ),
            extra=_TEXTS,
        ),
    ] = ("add header", "rewrite subject", "quarantine")
    spamd_certain: Annotated[
        float,
        Meta(
            ge=0,
            le=10_000,
            description=(
                "From this score on spamd is certain; from its own threshold on "
                "(required_score) it says perhaps, below that good."
            ),
        ),
    ] = 15.0
    clamd_perhaps: Annotated[
        tuple[_Text, ...],
        Meta(
            max_length=MAX_NAMES,
            description=(
                "How names of clamd begin that stand for perhaps: guesses and unwanted "
                "programs; all others stand for certain."
            ),
            extra=_TEXTS,
        ),
    ] = ("Heuristics.", "PUA.")


def engines_table(fields: Mapping[str, GivenValue]) -> EnginesTable:
    """Return the `[engines]` table that files give together.

    Raises:
        PolicyError: somewhere a worse opinion leads to a milder verdict.
    """
    table = EnginesTable(**{key: item.value for key, item in fields.items()})
    rows = {key: tuple(map(_SEVERITY.index, getattr(table, key))) for key in _ROWS}
    for key, row in rows.items():
        if list(row) != sorted(row):
            raise _milder(
                key,
                "what others say gets worse from left to right, and what is done milder",
                fields,
            )
    for column in range(len(_SEVERITY)):
        for above, below in pairwise(_ROWS):
            if rows[above][column] > rows[below][column]:
                raise _milder(
                    below if below in fields else above,
                    (
                        f"in place {column + 1} {above} is more severe than {below}, which is "
                        f"the worse opinion of ours"
                    ),
                    fields,
                )
    return table


def _milder(key: str, why: str, fields: Mapping[str, GivenValue]) -> PolicyError:
    return refuse(f"[engines] {key}: {why}", fields[key].place)
