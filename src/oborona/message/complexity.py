"""Whether an HTML parser can be trusted with a page: a bound on its work, counted before it is
parsed.

The HTML standard's tree construction is not linear. Three shapes make any parser that follows it
(lexbor, browsers) crawl or swell; measured with lexbor: 50,000 nested <div> take 4 s; 30,000
attributes in one tag 1.7 s; 33 kB of <font> opened in a paragraph and reopened in 2,000 more take 5
s and 1.4 GB. So large pages are counted before they are parsed:

    nesting      the most elements open at once; those that close by themselves (p, li, td, ...) are
                 not counted
    formatting   the most formatting elements open at once, times the tags of the page: each may be
                 copied at each
    attributes   in one tag, read by the tokeniser's own rules for quotes (WHATWG HTML s13.2.5)

Any `<a` may begin a tag, as a comment or a script may end anywhere: a tag inside what looked like a
tag is counted from its own start, as long as that reads no character twice on average. Pages of one
message share a bound.

Limits: the counts are upper bounds; a page beyond them is read without its structure, never
refused.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from oborona.message.findings import Findings

SMALL: Final = 400  # tags: whatever their order, the parser stays under 20 ms and 15 MB
MAX_NESTING: Final = 2000  # 15 ms; deep newsletters reach 60
MAX_FORMATTING: Final = 150_000  # formatting elements open at once, times tags: 60 ms, 60 MB
MAX_FORMATTING_IN_ALL: Final = 300_000  # the same, of all pages of a message
MAX_NESTING_IN_ALL: Final = 10_000
MAX_ATTRIBUTES: Final = 300  # in one tag: 0.2 ms; real tags have 30
ATTRIBUTES_FROM: Final = 16384  # characters: the attributes of a shorter page cost 50 ms at most
UNCOUNTED_PAGES: Final = 3  # small or short pages of a message that are parsed uncounted

_FORMATTING: Final = re.compile(
    r"<(/?)(?:a|b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)(?=[\s/>])", re.IGNORECASE
)
_NESTING: Final = re.compile(
    r"<(/?)(?!(?:p|li|td|tr|th|dt|dd|option|optgroup|tbody|thead|tfoot|colgroup|caption|rp|rt|"
    r"br|hr|img|input|meta|link|area|base|col|embed|param|source|track|wbr)[\s/>])[a-zA-Z]"
)
_ATTRIBUTE: Final = r"""(?>[\s/]++(?:[^\s/>=]|=)[^\s/>=]*+(?>\s*+=\s*+(?>"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\s>"'][^\s>]*+)?+)?+|"[^\s/>=]*+|'[^\s/>=]*+|[^\s/>"']++)"""
_TAG: Final = re.compile(rf"<[a-zA-Z]{_ATTRIBUTE}*+")
_TAG_START: Final = re.compile(r"<[a-zA-Z]")
_MANY_ATTRIBUTES: Final = re.compile(rf"<[a-zA-Z]{_ATTRIBUTE}{{{MAX_ATTRIBUTES}}}+")


def complexity_problem(html: str, findings: Findings) -> str:
    """Return why `html` must not be given to a parser, empty when it may be.

    Args:
        html: already cut to the limit of HTML that is read.
        findings: counts the work of all pages of the message; gets none.

    """
    tags = html.count("<")
    uncounted = findings.afford("pages", 1, UNCOUNTED_PAGES)
    if not (uncounted and len(html) <= ATTRIBUTES_FROM) and _many_attributes(html):
        return f"over {MAX_ATTRIBUTES} attributes in a tag"
    if uncounted and tags <= SMALL:
        return ""
    formatting = _deepest(_FORMATTING, html)
    if formatting * tags > MAX_FORMATTING:
        return f"{formatting} formatting elements open at once"
    if not findings.afford("formatting", formatting * tags, MAX_FORMATTING_IN_ALL):
        return "formatting elements in many pages"
    if uncounted and tags <= MAX_NESTING:
        return ""
    nesting = _deepest(_NESTING, html)
    if nesting > MAX_NESTING:
        return f"{nesting} elements deep"
    return (
        ""
        if findings.afford("nesting", nesting, MAX_NESTING_IN_ALL)
        else "deep elements in many pages"
    )


def _many_attributes(html: str) -> bool:
    """Return whether a tag may have more attributes than `MAX_ATTRIBUTES`, wherever a parser finds
    it to begin.
    """
    tags = _TAG.findall(html)
    if any(len(tag) > MAX_ATTRIBUTES and _MANY_ATTRIBUTES.match(tag) for tag in tags):
        return True
    if len(tags) == len(_TAG_START.findall(html)):
        return False  # no tag inside another one
    rescanned = end = 0
    for start in _TAG_START.finditer(html):
        inside = start.start() < end
        tag = _TAG.match(html, start.start())
        assert tag is not None
        if inside:
            rescanned += len(tag[0])
            if rescanned > len(html) or _MANY_ATTRIBUTES.match(tag[0]):
                return True
        end = max(end, tag.end())
    return False


def _deepest(tags: re.Pattern[str], html: str) -> int:
    """Return an upper bound of how many of these elements are open at once."""
    steps = [-1 if slash else 1 for slash in tags.findall(html)]
    if not steps:
        return 0
    levels = np.cumsum(steps)
    # A closing tag that closes nothing must not pay for later opening ones: count from the lowest
    # level so far.
    return int((levels - np.minimum(np.minimum.accumulate(levels), 0)).max())
