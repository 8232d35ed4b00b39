"""An archive or a document carries a program, alone or with little beside it."""

from __future__ import annotations

from typing import Final

from oborona.message.file_types import PROGRAMS
from oborona.policy.checks.context import CheckContext
from oborona.policy.checks.executable_attachment import EXECUTABLE
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "packed-program"

# Files beside the program: source code and installed software come by the dozen, and hold scripts
# and libraries; bait comes alone.
FEW: Final = 5
# An archive may hold a folder as an empty file: one called example.com is no program.
EMPTY: Final = EXECUTABLE - {"com", "app"}


def check(context: CheckContext) -> Finding | None:
    """Return a finding for the first such program; the evidence is its name and that of what it is
    in.
    """
    for attachment in context.message.attachments:
        files = [
            member for member in attachment.members if member.size != 0 or member.extension in EMPTY
        ]
        if len(files) > FEW:
            continue
        for member in files:
            if member.extension in EXECUTABLE or member.kind in PROGRAMS:
                return Finding(SLUG, f"{quoted(attachment.name, 40)}: {quoted(member.name, 60)}")
    return None
