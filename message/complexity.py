"""Whether an HTML parser can be trusted with a page: a bound on its work, found in one pass over the octets.

The HTML standard's tree construction is not linear. Three shapes make any parser that follows it (lexbor, browsers) crawl or
swell; measured with lexbor: 50,000 nested <div> take 4 s; 30,000 attributes in one tag 1.7 s; 33 kB of <font> opened in a
paragraph and reopened in 2,000 more take 5 s and 1.4 GB. So large pages are counted before they are parsed:

    nesting      the most elements open at once; those that close by themselves (p, li, td, ...) are not counted
    formatting   the most formatting elements open at once, times the tags of the page: each may be copied at each
    attributes   in one tag, read by the tokeniser's own rules for quotes (WHATWG HTML s13.2.5)

Limits: the counts are upper bounds; a page beyond them is read without its structure, never refused.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

SMALL: Final = 400  # tags: whatever their order, the parser stays under 20 ms and 15 MB
MAX_NESTING: Final = 2000  # 15 ms; deep newsletters reach 60
MAX_FORMATTING: Final = 150_000  # formatting elements open at once, times tags: 60 ms, 60 MB
MAX_ATTRIBUTES: Final = 1000  # in one tag: 2 ms; real tags have 30
ATTRIBUTES_FROM: Final = 16384  # characters: the attributes of a shorter page cost 50 ms at most

_FORMATTING: Final = re.compile(
    r"<(/?)(?:a|b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)(?=[\s/>])", re.IGNORECASE
)
_NESTING: Final = re.compile(
    r"<(/?)(?!(?:p|li|td|tr|th|dt|dd|option|optgroup|tbody|thead|tfoot|colgroup|caption|rp|rt|"
    r"br|hr|img|input|meta|link|area|base|col|embed|param|source|track|wbr)[\s/>])[a-zA-Z]"
)
_ATTRIBUTE: Final = r"""(?:[\s/]++(?:[^\s/>=]|=)[^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\s>"'][^\s>]*+)?+)?+|"[^\s/>=]*+|'[^\s/>=]*+|[^\s/>"']++)"""
_MANY_ATTRIBUTES: Final = re.compile(rf"<[a-zA-Z]{_ATTRIBUTE}{{{MAX_ATTRIBUTES},}}+")


def exhausting(html: str) -> str:
    """Return why `html` must not be given to a parser, empty when it may be.

    Args:
        html: already cut to the limit of HTML that is read.

    """
    tags = html.count("<")
    if len(html) > ATTRIBUTES_FROM and _MANY_ATTRIBUTES.search(html):
        return f"over {MAX_ATTRIBUTES} attributes in a tag"
    if tags <= SMALL:
        return ""
    formatting = _deepest(_FORMATTING, html)
    if formatting * tags > MAX_FORMATTING:
        return f"{formatting} formatting elements open at once"
    if tags > MAX_NESTING and (nesting := _deepest(_NESTING, html)) > MAX_NESTING:
        return f"{nesting} elements deep"
    return ""


def _deepest(tags: re.Pattern[str], html: str) -> int:
    """Return an upper bound of how many of these elements are open at once."""
    steps = [-1 if slash else 1 for slash in tags.findall(html)]
    if not steps:
        return 0
    levels = np.cumsum(steps)
    # A closing tag that closes nothing must not pay for later opening ones: count from the lowest level so far.
    return int((levels - np.minimum(np.minimum.accumulate(levels), 0)).max())
