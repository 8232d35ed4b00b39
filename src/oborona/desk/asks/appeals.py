"""Asks about appeals of senders: which wait for an answer, and one of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import msgspec
from msgspec import Meta

from oborona import state_files
from oborona.desk.call import NotFoundError, ask
from oborona.desk.site import Site
from oborona.feedback.cases.appeals import Appeal, AppealBook, AppealState, RefusalReason
from oborona.ident import to_text
from oborona.people.caller import Caller
from oborona.people.rights import Right

AppealId = Annotated[int, Meta(ge=1, le=(1 << 63) - 1)]


class AppealsQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which appeals are asked for.

    Args:
        answered: all, the newest first; else those that wait, in the order in which they came.
        after: how many to leave out: the next page.
        most: at most so many.
    """

    answered: bool = False
    after: Annotated[int, Meta(ge=0, le=20_000)] = 0
    most: Annotated[int, Meta(ge=1, le=200)] = 50


class AppealQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """An appeal by its number."""

    id: AppealId


class AppealView(msgspec.Struct, frozen=True, kw_only=True):
    """An appeal; times are Unix seconds.

    Args:
        id: its number.
        reference: of the refusal.
        address: who the sender says to be: nobody has proved it.
        domain: of the refused mail's envelope, which that address is of.
        refused: when.
        put_off: it was refused for a while.
        reasons: why, by kinds: what the sender is told.
        at: when he wrote.
        text: what.
        state: what became of it.
        words: to the sender.
        by: who answered.
        answered: when; 0 = nobody has.
    """

    id: int
    reference: str
    address: str
    domain: str
    refused: float
    put_off: bool
    reasons: tuple[RefusalReason, ...]
    at: float
    text: str
    state: AppealState
    words: str
    by: str
    answered: float


class AppealList(msgspec.Struct, frozen=True, kw_only=True):
    """Appeals, and how many wait in all."""

    appeals: tuple[AppealView, ...]
    waiting: int
    more: bool


@ask("appeals.list", Right.TRACK)
def list_appeals(site: Site, _caller: Caller, asked: AppealsQuestion) -> AppealList:
    """Return appeals of senders against refusals."""
    with open_appeals(site) as book:
        if book is None:
            return AppealList(appeals=(), waiting=0, more=False)
        found = book.all(waiting=not asked.answered, after=asked.after, most=asked.most + 1)
        waiting = book.waiting()
    return AppealList(
        appeals=tuple(map(appeal_view, found[: asked.most])),
        waiting=waiting,
        more=len(found) > asked.most,
    )


@ask("appeals.show", Right.TRACK)
def show_appeal(site: Site, _caller: Caller, asked: AppealQuestion) -> AppealView:
    """Return an appeal of a sender."""
    with open_appeals(site) as book:
        return appeal_view(found_appeal(book, asked.id))


def found_appeal(book: AppealBook | None, ident: int) -> Appeal:
    """Return the appeal of a number.

    Raises:
        NotFoundError: there is none, or no longer.
    """
    found = None if book is None else book.named(ident)
    if found is None:
        raise NotFoundError(f"there is no appeal {ident}, or no longer")
    return found


@contextmanager
def open_appeals(site: Site) -> Iterator[AppealBook | None]:
    """Open the book of appeals as the daemon's user; None where nobody has written one."""
    path = site.state / state_files.CASES
    if not path.exists():
        yield None
        return
    with site.as_owner(), AppealBook(path, make=False) as opened:
        yield opened


def appeal_view(appeal: Appeal) -> AppealView:
    """Return an appeal as it is shown."""
    fields = msgspec.structs.asdict(appeal)
    return AppealView(**(fields | {"reference": to_text(appeal.reference)}))
