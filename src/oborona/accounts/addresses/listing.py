"""What one DNS list has said of one own address, and what changes by an answer. Pure.

    suspected the list says so, once: it may have gone wrong, and list the whole world
    listed    the list says so, and was right about its test points since
    unknown   it gave no answer, and was not known to have the address: that is not clean
    none      clean, if the round of the list is young enough

An address is off a list when the list says so twice, in two rounds: some lists answer from several
machines, of which one is behind.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from oborona.reputation.dnsbl import DnsblFailure, DnsblListing

CLEAN_TWICE: Final = 2
AGAIN_S: Final = 330.0  # until it is asked once more: longer than between two probes of a list


class ListingState(StrEnum):
    """Of an address on a list."""

    SUSPECTED = "suspected"
    LISTED = "listed"
    UNKNOWN = "unknown"


class OwnListing(msgspec.Struct, frozen=True, kw_only=True):
    """An own address that a list has, or may have."""

    address: str  # canonical text
    list: str  # name
    state: ListingState
    since: float  # Unix seconds
    asked: float  # Unix seconds, of the last answer
    say: str = ""  # what the list says; why it is unknown
    clean: int = 0  # answers in a row that say it is off the list


class ListingChange(msgspec.Struct, frozen=True, kw_only=True):
    """What an answer changes."""

    now: OwnListing | None  # as it is from now on; None = nothing is kept
    listed: bool = False  # it was not, and people are to know
    delisted: bool = False


def changed(
    before: OwnListing | None,
    address: str,
    name: str,
    answer: DnsblListing | DnsblFailure | None,
    at: float,
) -> ListingChange:
    """Return what an answer changes.

    Args:
        before: what is known; None = clean, or nothing.
        address: canonical text.
        name: of the list.
        answer: None = the list does not have it, or has it for something good.
        at: Unix seconds.
    """
    was_listed = before is not None and before.state is ListingState.LISTED
    if isinstance(answer, DnsblFailure):
        if was_listed:
            return ListingChange(now=before)
        since = at if before is None else before.since
        unknown = OwnListing(
            address=address,
            list=name,
            state=ListingState.UNKNOWN,
            since=since,
            asked=at,
            say=answer.why,
        )
        return ListingChange(now=unknown)
    if answer is not None and answer.score > 0:
        said_so = before is not None and before.state is not ListingState.UNKNOWN
        found = OwnListing(
            address=address,
            list=name,
            state=ListingState.LISTED if said_so else ListingState.SUSPECTED,
            since=before.since if before is not None and said_so else at,
            asked=at,
            say=answer.say,
        )
        return ListingChange(now=found, listed=said_so and not was_listed)
    if before is not None and was_listed and before.clean + 1 < CLEAN_TWICE:
        again = msgspec.structs.replace(before, clean=before.clean + 1, asked=at)
        return ListingChange(now=again)
    return ListingChange(now=None, delisted=was_listed)
