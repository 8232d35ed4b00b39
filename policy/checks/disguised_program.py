"""A program in an archive or a document goes under the name of something harmless."""

from __future__ import annotations

from typing import Final

from oborona.message.file_types import PROGRAMS
from oborona.message.model import ArchiveMember
from oborona.policy.checks.context import CheckContext
from oborona.policy.checks.executable_attachment import EXECUTABLE, HARMLESS
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "disguised-program"


def check(context: CheckContext) -> Finding | None:
    """Return a finding for the first such program; the evidence is its name, that of what it is in,
    and how it hides.
    """
    for attachment in context.message.attachments:
        for member in attachment.members:
            if disguise := _disguise(member):
                return Finding(
                    SLUG, f"{quoted(attachment.name, 40)}: {quoted(member.name, 60)} ({disguise})"
                )
    return None


def _disguise(member: ArchiveMember) -> str:
    """Return how a program pretends to be none, empty when it does not."""
    stem = member.name.lower().rstrip(". ").rsplit(".", 2)
    if member.extension in EXECUTABLE and len(stem) == 3 and stem[1].strip() in HARMLESS:
        return "double extension"
    # a jar is a zip by right
    if member.kind in PROGRAMS and member.extension in HARMLESS - {"zip"}:
        return "a program by its first bytes"
    return ""
