r"""What a table says of an address or a sender, and how it is written for Exim.

    verdict=deny code=554 until=0 text="5.7.1 Client refused" why="OUR_DENIALS 192.0.2.0/24"

${extract{name}{line}} takes it apart. `text` is what a client may hear, `why` what stands in the
log.

Source: Exim 4.96, src/expand.c (expand_getkeyed), src/string.c (string_dequote).
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

DENY: Final = "deny"  # Oborona would refuse it now
# a list of the site lets it in, or a narrower entry takes it out of one that denies
ALLOW: Final = "allow"
MAX_WHY: Final = 300  # characters

_UNPRINTABLE: Final = re.compile(r"[^ -~]")


class ExportRow(NamedTuple):
    """One entry of a table."""

    verdict: str  # deny or allow; of who is pinned and not refused for it, the pin's flag
    why: str
    code: int = 0  # of SMTP; 0: nothing is refused
    text: str = ""  # after the code
    until: int = 0  # Unix seconds, from which on it is not to be believed; 0: for ever

    @property
    def line(self) -> str:
        """The entry in one line."""
        return (
            f"verdict={self.verdict} code={self.code} until={self.until} "
            f"text={_quoted(self.text)} why={_quoted(self.why)}"
        )


def deny_row(of: str, why: str, *, until: int = 0) -> ExportRow:
    """Return the row of who is refused.

    Args:
        of: "Client" or "Sender".
        why: for the log.
        until: Unix seconds; 0 = for ever.
    """
    code = 554 if of == "Client" else 550
    return ExportRow(DENY, why[:MAX_WHY], code, f"5.7.1 {of} refused", until)


def _quoted(text: str) -> str:
    return '"{}"'.format(_UNPRINTABLE.sub("?", text).replace("\\", "\\\\").replace('"', '\\"'))
