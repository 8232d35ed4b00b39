"""The `[final]` table: which of the final models speak, and what they may do."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from oborona.errors import PolicyError
from oborona.toml import GivenValue, did_you_mean


class FinalMode(StrEnum):
    """What the site's own final model does."""

    AUTO = "auto"  # in shadow until it was found better than what stands without it
    LIVE = "live"
    SHADOW = "shadow"


class FinalTable(msgspec.Struct, frozen=True, kw_only=True):
    """The `[final]` table: what the final models' word does.

    The one that comes with Oborona adds to the score of the rules.  The site's own stands in the
    place of both, once it decides.
    """

    mode: Annotated[
        FinalMode,
        Meta(
            description=(
                "What the site's own model does. auto: in shadow, and live from when its own report "
                "found it better. shadow: explained, scores nothing. live: the score is the one its "
                "probability stands for."
            )
        ),
    ] = FinalMode.AUTO
    shipped_points: Annotated[
        float,
        Meta(
            ge=0,
            le=1000,
            description=(
                "The most that the model that comes with Oborona adds to a score, while the site's "
                "own mail has not confirmed it; 0: it is in shadow."
            ),
        ),
    ] = 50.0
    shipped_points_confirmed: Annotated[
        float,
        Meta(ge=0, le=1000, description="The same, from when the site's own mail confirmed it."),
    ] = 80.0
    shipped_group: Annotated[
        str,
        Meta(
            max_length=64,
            description=(
                "The group of rules whose cap holds for what the model that comes with Oborona "
                "adds; empty, or none of the groups: none."
            ),
        ),
    ] = "STYLE"
    spam: Annotated[
        float,
        Meta(ge=0.55, le=0.999999, description="The probability that stands for `spam_score`."),
    ] = 0.9
    reject: Annotated[
        float,
        Meta(
            ge=0,
            le=0.99999999,
            description=(
                "The probability that stands for `reject_score`, above that of `spam`; 0: it "
                "never refuses."
            ),
        ),
    ] = 0.0
    overrules: Annotated[
        tuple[str, ...],
        Meta(
            description="Rules that are no decisions of the site, however much they score: what "
            "the content model alone would file as spam,"
            " the final model, which takes its result into account, may let pass."
        ),
    ] = ("CONTENT_SPAM",)


def final_table(
    fields: Mapping[str, GivenValue], rules: Collection[str], *, groups: Collection[str]
) -> FinalTable:
    """Return the `[final]` table that files give together.

    Args:
        fields: its keys.
        rules: names of all rules.
        groups: names of all groups.

    Raises:
        PolicyError: its lines are crossed, or it names a rule or group that there is not.
    """
    table = FinalTable(**{key: item.value for key, item in fields.items()})
    if "shipped_group" in fields and table.shipped_group not in {"", *groups}:
        place = fields["shipped_group"].place
        raise PolicyError(
            (
                f'shipped_group = "{table.shipped_group}": there is no such '
                f"[[group]]{did_you_mean(table.shipped_group, groups)}"
            ),
            file=place.file,
            line=place.line,
            column=place.column,
        )
    unknown = (
        [name for name in table.overrules if name not in rules] if "overrules" in fields else []
    )
    if unknown:
        place = fields["overrules"].place
        raise PolicyError(
            f"overrules names {unknown[0]!r}; there is no rule of that name",
            file=place.file,
            line=place.line,
            column=place.column,
        )
    if table.reject and table.reject <= table.spam:
        place = (fields.get("reject") or fields["spam"]).place
        raise PolicyError(
            (
                f"reject = {table.reject:g} is not above spam = {table.spam:g}; 0 = the model "
                f"never refuses"
            ),
            file=place.file,
            line=place.line,
            column=place.column,
        )
    return table
