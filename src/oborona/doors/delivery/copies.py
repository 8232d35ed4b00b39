"""The copies of a message: each recipient's verdict, and who shares a copy; pure.

A copy whose verdict is what its headers say already goes on byte by byte as it came.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from oborona.doors.delivery.header_marks import CopyMark, HeaderMarks
from oborona.journal.entry import JournalEntry
from oborona.policy.disclosure import PrivateRules, public_verdict
from oborona.policy.headers import HeaderDetail, reason
from oborona.policy.personal_list_match import PERSONAL, ReaderVerdict
from oborona.types import Action, RuleHit, Verdict

SPAM: Final = frozenset({Action.SPAM, Action.REJECT})  # to the spam folder
_PERSONAL_PART: Final = re.compile(PERSONAL + r"(?:=0\.0(?:\(.*?\))?)?(?: |\Z)")


class RecipientResult(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict for one recipient."""

    action: Action | None  # None: it was not judged by us
    mark: CopyMark | None = None  # headers in the place of ours; None = as they are
    decided_by: str = ""


class DeliveryCopy(msgspec.Struct, frozen=True, kw_only=True):
    """A message for all recipients who get it with the same headers."""

    mark: CopyMark | None
    spam: bool
    places: tuple[int, ...]  # of its recipients, in order


def recipient_result(
    marks: HeaderMarks,
    outcome: ReaderVerdict,
    entry: JournalEntry | None,
    detail: HeaderDetail,
    policy: PrivateRules,
) -> RecipientResult:
    """Return what a recipient gets whose verdict is known.

    Args:
        marks: what the message says already.
        outcome: for the reader.
        entry: of the message; None: its headers are all that is known.
        detail: how much headers say of why.
        policy: in force: what it does not tell is not told.
    """
    mark = CopyMark(
        action=outcome.action,
        score=None if detail is HeaderDetail.NONE else marks.score,
        line=outcome.line,
        reason=_reason(outcome, marks, entry, detail, policy),
    )
    says = CopyMark(
        action=marks.action or Action.ACCEPT,
        score=marks.score,
        line=marks.line,
        reason=marks.reason,
    )
    same = mark.action is says.action and (outcome.decided_by == PERSONAL) == is_personal(marks)
    if same and (outcome.decided_by != PERSONAL or mark.reason == says.reason):
        return RecipientResult(action=outcome.action, decided_by=outcome.decided_by)
    return RecipientResult(action=outcome.action, mark=mark, decided_by=outcome.decided_by)


def is_personal(marks: HeaderMarks) -> bool:
    """Tell whether a message says that lists of its readers decided."""
    return _PERSONAL_PART.match(marks.reason) is not None


def group_copies(every: Sequence[RecipientResult], places: Sequence[int]) -> list[DeliveryCopy]:
    """Return the copies of some recipients, in the order of the first of each.

    Args:
        every: by place.
        places: of the recipients that get a copy.
    """
    same: dict[tuple[CopyMark | None, bool], list[int]] = {}
    for place in places:
        result = every[place]
        same.setdefault((result.mark, result.action in SPAM), []).append(place)
    return [
        DeliveryCopy(mark=mark, spam=spam, places=tuple(of)) for (mark, spam), of in same.items()
    ]


def with_folder_suffix(address: bytes, suffix: bytes) -> bytes:
    """Return an address whose mailbox is another folder of the same person, such as joe+Junk@ of
    joe@ and of joe+shop@.

    Args:
        address: of a recipient; one whose local part is quoted stays as it is.
        suffix: a plus and the folder's name.
    """
    local, at, domain = address.rpartition(b"@")
    if not at:
        local, domain = domain, b""
    if local.startswith(b'"'):
        return address
    head, _, _ = local.partition(b"+")
    return (head or local) + suffix + at + domain


def _reason(
    outcome: ReaderVerdict,
    marks: HeaderMarks,
    entry: JournalEntry | None,
    detail: HeaderDetail,
    policy: PrivateRules,
) -> str:
    own = (
        (RuleHit(name=PERSONAL, score=0.0, say=outcome.say),)
        if outcome.decided_by == PERSONAL
        else ()
    )
    if entry is not None:
        whole = Verdict(
            action=outcome.action,
            score=entry.score,
            line=outcome.line,
            decided_by=outcome.decided_by,
            rules=(*own, *(hit for hit in entry.rules if hit.name != PERSONAL)),
            would=entry.would,
        )
        return reason(public_verdict(whole, policy), detail)
    rest = _PERSONAL_PART.sub("", marks.reason, count=1) if is_personal(marks) else marks.reason
    if detail is HeaderDetail.NONE:
        return PERSONAL if own else ""
    full = detail is HeaderDetail.FULL
    return " ".join(
        filter(None, (*(f"{hit.name}=0.0({hit.say})" if full else hit.name for hit in own), rest))
    )
