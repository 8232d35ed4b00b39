"""When a verdict depends on a message's pictures, and the findings if they could not be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from oborona.message.model import Picture
from oborona.policy.facts import Facts
from oborona.policy.ports import PictureView
from oborona.policy.tables import PicturesTable
from oborona.types import Verdict

STOPPED: Final = "picture-stopped"
UNREAD: Final = "pictures-unread"
FINDINGS: Final = {
    STOPPED: (
        "a picture whose decoding or reading took more time or memory than any honest one "
        "does, and was stopped"
    ),
    UNREAD: (
        "a message that is a picture and little else, and grey; it should have been read, and "
        "was not in time"
    ),
}
"""name -> what it says"""


def waits_for_pictures(
    facts: Facts, verdict: Verdict, table: PicturesTable, *, spam_score: float
) -> bool:
    """Tell whether a verdict should wait until the pictures have been read: picture and little
    else, and grey.

    Args:
        facts: of the message; its pictures not read.
        verdict: without their text.
        table: from which score on.
        spam_score: from here on it is spam anyway.
    """
    return facts.pictures_only and table.wait_from <= verdict.score < spam_score


class NoPictures:
    """Looks at no picture, for sites and tools that want none looked at."""

    async def look(self, pictures: Sequence[Picture]) -> PictureView:
        """See nothing."""
        return PictureView(pictures=tuple(pictures))

    async def read(self, pictures: Sequence[Picture]) -> PictureView:
        """Read nothing."""
        return PictureView(pictures=tuple(pictures))
