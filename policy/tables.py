"""The tables of a policy about clients and senders: what is done about what was found of them.

This is the only list of their keys.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from oborona.errors import PolicyError
from oborona.toml import GivenValue, did_you_mean
from oborona.types import RuleMode

SLOWEST_S: Final = 9  # on top of worker.command_deadline_s, at most 20 s: Postfix waits 30 s


class RepIpTable(msgspec.Struct, frozen=True, kw_only=True):
    """The `[repip]` table: what is done, before the content, about an address with a bad
    history.
    """

    bad: Annotated[
        Literal["reject", "none"],
        Meta(
            description="Refuse the connection with 554, or go on; rules see repip.flag either way."
        ),
    ] = "reject"
    poor: Annotated[
        Literal["none", "slow", "tempfail"],
        Meta(
            description=(
                "Nothing, make the client wait before it may go on, or ask it to come back later."
            )
        ),
    ] = "none"
    slow_s: Annotated[
        float,
        Meta(
            ge=0.1,
            le=SLOWEST_S,
            description=(
                "How long `slow` makes it wait, in seconds; more would be longer than the "
                "mail server waits for us."
            ),
        ),
    ] = 5.0


class GreylistTable(msgspec.Struct, frozen=True, kw_only=True):
    """The `[greylist]` table: mail that is neither good nor spam is asked to come again."""

    enabled: Annotated[bool, Meta(description="Off: nothing is ever put off.")] = False
    score: Annotated[
        float,
        Meta(ge=0, le=10_000, description="From here on, below the spam threshold, mail is grey."),
    ] = 60.0
    known_after: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000,
            description=(
                "An identity with so many good messages in two weeks is known, and never put off."
            ),
        ),
    ] = 3


class PicturesTable(msgspec.Struct, frozen=True, kw_only=True):
    """The `[pictures]` table: when an answer waits until a picture has been read."""

    wait_from: Annotated[
        float,
        Meta(
            ge=-10_000,
            le=10_000,
            description="Mail that is a picture and little else is read before the answer if its "
            "score is from here up to the"
            " spam threshold; all other mail after it.",
        ),
    ] = 30.0


class MeaningTable(msgspec.Struct, frozen=True, kw_only=True):
    """The `[meaning]` table: when an answer waits until the meaning of the text is known."""

    wait_from: Annotated[
        float,
        Meta(
            ge=-10_000,
            le=10_000,
            description="The meaning of grey mail (embeddings) is used if its score is from here "
            "up to the spam threshold; needs the extra `ml`, a"
            " model that was trained with it, and [reader] meaning.",
        ),
    ] = 30.0


class KarmaTable(msgspec.Struct, frozen=True, kw_only=True):
    """The `[karma]` table: what karma adds to a score."""

    mode: Annotated[
        RuleMode,
        Meta(description="shadow: explained, scores nothing. live: it is part of the score."),
    ] = RuleMode.LIVE
    best: Annotated[
        float, Meta(ge=-200, le=0, description="What a karma of 100 adds; in proportion down to 0.")
    ] = -40.0
    worst: Annotated[
        float, Meta(ge=0, le=200, description="What a karma of -100 adds; in proportion down to 0.")
    ] = 40.0
    group: Annotated[
        str, Meta(max_length=64, description="The group whose cap holds for it; empty: none.")
    ] = ""
    never_helps: Annotated[
        tuple[str, ...],
        Meta(
            description=(
                "Findings, rules, lists and groups: what bears one of them gets nothing for a "
                "high karma, whoever sent it."
            )
        ),
    ] = ()
    shared: Annotated[
        tuple[str, ...],
        Meta(
            description=(
                "Signature lists with the flag `mark` whose domains everybody uses, such as "
                "shorteners: karma judges the links to them, not the domains."
            )
        ),
    ] = ()


class AuthenticationTable(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The `[authentication]` table."""

    trusted_sealers: Annotated[
        tuple[str, ...],
        Meta(
            description=(
                "Domains whose ARC seals are trusted, subdomains included: forwarders that "
                "check what they forward."
            )
        ),
    ] = ()
    max_signatures: Annotated[
        int,
        Meta(
            ge=1,
            le=50,
            description=(
                "DKIM signatures of one message that are checked, those of From's domain "
                "before others; the rest are counted."
            ),
        ),
    ] = 8

    @cached_property
    def trusted(self) -> frozenset[str]:
        """The sealers, in lower case."""
        return frozenset(sealer.lower().rstrip(".") for sealer in self.trusted_sealers)


def karma_table(
    fields: Mapping[str, GivenValue],
    *,
    named: Collection[str],
    groups: Collection[str],
    lists: Collection[str],
    findings: Collection[str] | None,
) -> KarmaTable:
    """Return the `[karma]` table that files give together.

    Args:
        fields: its keys.
        named: rules and lists.
        groups: all there are.
        lists: of signatures.
        findings: all there are; None = whatever looks like one.

    Raises:
        PolicyError: it names what there is not.
    """
    table = KarmaTable(**{key: item.value for key, item in fields.items()})
    helped = [
        name
        for name in table.never_helps
        if not (findings is None and name.islower()) and name not in (findings or ())
    ]
    for key, names, defaults in (
        ("never_helps", helped, [*named, *groups, *(findings or ())]),
        ("group", [table.group] if table.group else [], groups),
        ("shared", table.shared, lists),
    ):
        unknown = [name for name in names if name not in defaults]
        if unknown:
            place = fields[key].place
            raise PolicyError(
                f"{key}: there is no {unknown[0]!r}{did_you_mean(unknown[0], defaults)}",
                file=place.file,
                line=place.line,
                column=place.column,
            )
    return table
