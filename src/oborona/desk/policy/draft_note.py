"""What is known of a draft beside its files: whose it is, what was tried, who waits for whom."""

from __future__ import annotations

import msgspec


class DraftPreview(msgspec.Struct, frozen=True, kw_only=True):
    """What a preview found of a draft's very text.

    Args:
        digest: of the files that were tried.
        at: Unix seconds.
        messages: that were judged.
        good: of these, delivered as good mail.
        good_lost: of the good, those that the draft would not deliver so.
        moves: delivered copies that the second look would move.
    """

    digest: str
    at: float
    messages: int
    good: int = 0
    good_lost: int = 0
    moves: int = 0


class DraftProposal(msgspec.Struct, frozen=True, kw_only=True):
    """A draft as somebody wants it to be published live, by another person's word.

    Args:
        by: who has proposed it.
        at: Unix seconds.
        reason: why.
        digest: of the very text; of another one nobody has proposed anything.
        sure: it is meant to change so much as the preview has shown.
    """

    by: str
    at: float
    reason: str
    digest: str
    sure: bool = False


class DraftDecline(msgspec.Struct, frozen=True, kw_only=True):
    """A proposal that was not approved.

    Args:
        proposer: whose it was.
        by: who has declined it; the same: they have taken it back.
        at: Unix seconds.
        words: why.
    """

    proposer: str
    by: str
    at: float
    words: str


class DraftNote(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a draft beside its files.

    Args:
        owner: who began it.
        made: Unix seconds.
        about: what it is for.
        base: number of the version that it began from.
        files: digests of the files of then, by name.
        preview: the last one.
        proposal: to publish it live; None = nobody waits.
        decline: of the last proposal that somebody did not approve.
    """

    owner: str
    made: float
    about: str = ""
    base: int
    files: dict[str, str]
    preview: DraftPreview | None = None
    proposal: DraftProposal | None = None
    decline: DraftDecline | None = None
