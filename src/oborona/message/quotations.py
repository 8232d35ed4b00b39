"""Quotations that HTML marks by its structure, as plain text does by `>`: marks in the tree, for
what a sender wrote himself.

Gmail, Apple Mail, Thunderbird, Yahoo!, Proton, Yandex and Mail.ru put an old message into
<blockquote> or an element of a class of their own. Outlook does not, and writes its head ("From:
... Sent: ...") as text, which `own_words` knows.

Only answers are asked: a message without In-Reply-To and References quotes nothing, and would else
hide its text in an element that looks like any other. Limits: `MAX_QUOTATIONS` of a page.
"""

from __future__ import annotations

from typing import Final

from selectolax.lexbor import LexborHTMLParser

from oborona.message.model import HeaderField
from oborona.message.visibility import surround

MAX_QUOTATIONS: Final = 100  # elements: old messages in old messages
QUOTED: Final = "\0q"  # the mark, see `visibility`
INSTEAD: Final = "\n> \n"  # stands for a quotation, so that the line that introduces it goes, too
_SELECTED: Final = "blockquote,.gmail_quote,.yahoo_quoted,.protonmail_quote"
_ANSWERS: Final = frozenset({"in-reply-to", "references"})


def answers(headers: tuple[HeaderField, ...]) -> bool:
    """Return whether a message says that it answers another. Source: RFC 5322 s3.6.4."""
    return any(header.name in _ANSWERS for header in headers)


def mark(tree: LexborHTMLParser) -> None:
    """Put marks around the quotations of `tree`."""
    for node in tree.css(_SELECTED)[:MAX_QUOTATIONS]:
        surround(node, QUOTED)
