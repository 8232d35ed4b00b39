"""How an HTML page is written, as far as that tells who wrote it: against filters, or for a market
place.

Read from the source by patterns, each linear in it.  Limits: tricks that need the page's styles are
`visibility`'s.
"""

from __future__ import annotations

import re
from typing import Final

from oborona.message.findings import Findings

# plain letters written as numbers: more than an address that hides from harvesters
NUMBERED: Final = 60
NUMBERED_SHARE: Final = 0.2  # of the page
CUT: Final = 5  # words cut by what no reader sees: more than a template's slip

_NUMBERED: Final = re.compile(
    r"&#0{0,4}(?:6[5-9]|[78]\d|90|9[7-9]|1[01]\d|12[0-2]|x(?:4[1-9a-f]|5[0-9a]|6[1-9a-f]|7[0-9a]))(?!\d);?",
    re.IGNORECASE,
)
# Its first sign stands first, so that a search goes from sign to sign.
_CUT: Final = re.compile(
    r"<(?<=[a-zA-Z]<)(?:!--[^<>]{0,100}--|/?[a-z]{2,3}[a-z0-9]{4,20})>(?=[a-zA-Z])"
)
_HUGE: Final = re.compile(
    r"<font\b[^<>]{0,200}?\bsize\s*=\s*[\"']?(?:\+[3-9]|[5-7])|<(?:blink|marquee)\b", re.IGNORECASE
)
_RED: Final = re.compile(r"\bcolor\s*[=:]\s*[\"']?(?:red\b|#?ff0000)", re.IGNORECASE)
_HONEST: Final = re.compile(r"</?(?:strong|center|strike|section|article|header|footer|figure|summary|details|button|textarea|select|option|caption|colgroup|acronym|address|nobr)\b", re.IGNORECASE)  # fmt: skip


def manner(source: str, findings: Findings) -> None:
    """Add what a page's source tells: html-loud, letters-as-numbers, words-cut.

    Args:
        source: of the page, cut to the limit of HTML that is read.
        findings: gets them.
    """
    numbered = _NUMBERED.findall(source) if "&#" in source else []
    if len(numbered) >= NUMBERED and sum(map(len, numbered)) > NUMBERED_SHARE * len(source):
        findings.add("letters-as-numbers", str(len(numbered)))
    cut = 0
    end = -1  # of the last one, with the letter behind it: that begins no other
    for piece in _CUT.finditer(source):
        if piece.start() > end:
            end = piece.end() + 1
            cut += _HONEST.search(piece[0]) is None
    if cut >= CUT:
        findings.add("words-cut", str(cut))
    if _HUGE.search(source) is not None and _RED.search(source) is not None:
        findings.add("html-loud")
