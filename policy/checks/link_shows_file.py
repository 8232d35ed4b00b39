"""A link shows the name of a file, as an attachment does, and leads to a page on somebody else's
site.
"""

from __future__ import annotations

import re
from typing import Final

from oborona.message.model import EntityLocation
from oborona.policy.checks.context import CheckContext
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "link-shows-file"

LOOKED_AT: Final = 160  # characters of what is shown
_KIND: Final = r"pdf|docx?|docm|xlsx?|xlsm|pptx?|html?|zip|rar|7z|rtf|csv|eml|wav|mp3|m4a|tiff?"
_SHOWN: Final = re.compile(
    rf"[^/:@\n]{{1,120}}\.(?:{_KIND})\s*(?:[([]?\s*[\d.,]+\s?[kmg]i?b\s*[)\]]?)?\s*",
    re.IGNORECASE,
)
_FILE: Final = re.compile(rf"\.(?:{_KIND})(?:[?#/]|$)", re.IGNORECASE)


def check(context: CheckContext) -> Finding | None:
    """Return a finding with the first such link. Where the link leads to such a file itself, or to
    the author's own site, it is what it seems.
    """
    message = context.message
    own = context.author_site
    for link in message.links:
        shown = link.shown
        if "." not in shown or link.place is not EntityLocation.ANCHOR or link.domain in ("", own):
            continue
        if _SHOWN.fullmatch(shown[:LOOKED_AT].strip()) and not _FILE.search(link.url):
            return Finding(SLUG, quoted(f"{shown} leads to {link.host}", 160))
    return None
