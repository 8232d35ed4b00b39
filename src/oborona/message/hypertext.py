"""HTML to what a reader sees, what a reader does not see, and where it leads.

Parsed by selectolax (lexbor).

Block elements break lines, table cells break words, nothing else does: `V<b></b>iagra` and
`V<!-- -->iagra` are one word, as on the screen. White space folds. Scripts, styles, titles and
comments are no text. Hidden text is kept apart; the line for the finding hidden-text: more than
`HIDDEN_WORDS` words that make more than `HIDDEN_SHARE` of all (the preview line of a newsletter
stays below either, and its version for telephones says what the other does: `COPIED_SHARE`), or
`SPLIT_WORDS` words with something hidden inside them.

Limits: the octets of `Limits.html_octets`; a page built to exhaust the parser is read by patterns
(`complexity`).
"""

from __future__ import annotations

import html as entities
import re
from typing import Final

import msgspec
from selectolax.lexbor import LexborHTMLParser

from oborona.message import quotations, visibility, word_count
from oborona.message.complexity import complexity_problem
from oborona.message.core import fold_lines, native_broken_source
from oborona.message.findings import Findings
from oborona.message.html_breaks import broken_source
from oborona.message.html_skeleton import skeleton
from oborona.message.html_style import manner
from oborona.message.model import EntityLocation

HIDDEN_WORDS: Final = 30  # preview lines of newsletters have up to 25
HIDDEN_SHARE: Final = 0.15
# of the hidden words stand in the text too: the same once more, for narrow screens
COPIED_SHARE: Final = 0.8
# words cut by hidden text have no honest reason; one or two may be a broken template
SPLIT_WORDS: Final = 3
MAX_FLAT: Final = 512 << 10  # characters read by patterns, of all pages of a message: 0.15 s
SHOWN_LENGTH: Final = 300  # characters of a link's text that are kept

_TAG: Final = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1|\Z)|</?[a-zA-Z!?][^<>]*>?",
    re.DOTALL | re.IGNORECASE,
)
_TARGET: Final = re.compile(
    r"\b(href|src|action)\s*=\s*(?:\"([^\"]{1,2000})\"|'([^']{1,2000})'|([^\s>\"']{1,2000}))",
    re.IGNORECASE,
)
_MARK: Final = re.compile("\0(.)", re.DOTALL)
_PLACES: Final = {
    "a": EntityLocation.ANCHOR,
    "area": EntityLocation.ANCHOR,
    "form": EntityLocation.FORM,
    "iframe": EntityLocation.FRAME,
    "img": EntityLocation.PICTURE,
}
_ATTRIBUTES: Final = {"a": "href", "area": "href", "form": "action", "iframe": "src", "img": "src"}


class LinkTarget(msgspec.Struct, frozen=True, gc=False):
    """Where an element leads, as written."""

    url: str
    shown: str
    place: EntityLocation


class HtmlPage(msgspec.Struct, frozen=True):
    """What an HTML part holds."""

    text: str = ""
    hidden: str = ""
    targets: tuple[LinkTarget, ...] = ()
    base: str = ""  # <base href>
    skeleton: str = ""
    # the text with lines "> " for its quotations; None = there are none, or they are not asked for
    own: str | None = None


def read(
    source: str, links: int, findings: Findings, *, flat: bool = False, answers: bool = False
) -> HtmlPage:
    """Return text, hidden text and links of an HTML page; never raises.

    Args:
        source: decoded and cut to the limit.
        links: how many are read, at most.
        findings: gets html-too-complex, html-too-long, hidden-text, links-too-many, and what
            `manner` adds.
        flat: read it by patterns alone, as a page too complex to parse.
        answers: the message answers another, whose words are told apart.

    """
    reason = "many pages" if flat else complexity_problem(source, findings)
    if reason:
        findings.add("html-too-complex", reason)
        if not findings.afford("flat", len(source), MAX_FLAT):
            findings.add("html-too-long", "of all parts")
            return HtmlPage()
        return _read_flat(source, links, findings)
    manner(source, findings)
    broken = _broken(source)
    tree = LexborHTMLParser(broken)
    tags = broken.lower()  # a selector costs more than a look whether anything can match it
    targets = _targets(tree, links, findings)
    base = _base(tree) if "<base" in tags else ""
    visibility.mark(tree, findings, sheets="<style" in tags)
    if answers:
        quotations.mark(tree)
    body = tree.body or tree.root
    if body is None:
        return HtmlPage(targets=targets, base=base, skeleton=skeleton(source))
    marked = body.text(deep=True)
    if "\0" not in marked:
        visible, hidden, split_words, own = marked, "", 0, None
    else:
        visible, hidden, split_words, own = _separate(marked)
    text = fold_lines(visible)
    hidden = fold_lines(hidden)
    if hidden:
        _judge_hidden(text, hidden, split_words, findings)
    return HtmlPage(
        text=text,
        hidden=hidden,
        targets=targets,
        base=base,
        skeleton=skeleton(source),
        own=None if own is None else fold_lines(own),
    )


def _broken(source: str) -> str:
    """Return `source` with white space where its elements break lines and words."""
    broken = None if native_broken_source is None else native_broken_source(source)
    return broken_source(source) if broken is None else broken


def _targets(tree: LexborHTMLParser, links: int, findings: Findings) -> tuple[LinkTarget, ...]:
    """Return where the page leads.

    Before the tree is marked, so that what a link shows holds no marks.
    """
    targets = []
    nodes = tree.css("a[href],area[href],form[action],iframe[src],img[src]")
    if len(nodes) > links:
        findings.add("links-too-many", str(len(nodes)))
        # Links that are followed come before pictures: a page must not push them out with spacers.
        nodes = tree.css("a[href],area[href],form[action],iframe[src]")[:links]
    for node in nodes:
        tag = node.tag or ""
        url = node.attributes.get(_ATTRIBUTES[tag]) or ""
        shown = " ".join(node.text(deep=True).split())[:SHOWN_LENGTH] if tag == "a" else ""
        targets.append(LinkTarget(url, shown, _PLACES[tag]))
    return tuple(targets)


def _base(tree: LexborHTMLParser) -> str:
    """Return what the links of a page start from, empty when it does not say."""
    base = tree.css_first("base[href]")
    return (base.attributes.get("href") or "") if base else ""


def _separate(marked: str) -> tuple[str, str, int, str | None]:
    """Return what is seen, what is hidden, how many words have something hidden inside, and what is
    seen and not quoted, of a marked text.
    """
    visible: list[str] = []
    own: list[str] = []
    quotes = quotations.QUOTED in marked
    hidden: list[str] = []
    stack: list[str] = []
    split_words = 0
    before = " "  # the last seen character
    cut = False  # something hidden stood since
    pieces = _MARK.split(marked)
    for index, piece in enumerate(pieces):
        if index % 2:
            if piece == "e":
                if stack:
                    stack.pop()
            else:
                if piece == "q" and "q" not in stack:
                    own.append(quotations.INSTEAD)
                stack.append(piece)
            continue
        if not piece:
            continue
        if not stack:
            state = ""
        elif "d" in stack:
            continue
        else:
            state = _state(stack)
        if state:
            hidden.append(piece)
            cut = cut or bool(piece.strip())
        else:
            if cut and before.isalpha() and piece[0].isalpha():
                split_words += 1
            cut = False
            before = piece[-1]
            visible.append(piece)
            if quotes and "q" not in stack:
                own.append(piece)
    return "".join(visible), " ".join(hidden), split_words, "".join(own) if quotes else None


def _state(stack: list[str]) -> str:
    """Return the innermost mark that hides, empty when the text is seen."""
    if "h" in stack:
        return "h"
    size = next((state for state in reversed(stack) if state in "tr"), "r")
    colour = next((state for state in reversed(stack) if state in "sv"), "v")
    return "t" if size == "t" else ("s" if colour == "s" else "")


def _judge_hidden(text: str, hidden: str, split_words: int, findings: Findings) -> None:
    hidden_words = word_count.count(hidden)
    share = hidden_words / max(1, hidden_words + word_count.count(text))
    if hidden_words > HIDDEN_WORDS and share > HIDDEN_SHARE and not _copied(hidden, text):
        findings.add("hidden-text", f"{share:.0%} of the words: {hidden}")
    elif split_words >= SPLIT_WORDS:
        findings.add("hidden-text", f"inside {split_words} words: {hidden}")


def _copied(hidden: str, text: str) -> bool:
    """Return whether hidden text is the seen one once more."""
    shown = set(text.split())
    words = word_count.words(hidden)
    return sum(map(shown.__contains__, words)) > len(words) * COPIED_SHARE


def _read_flat(source: str, links: int, findings: Findings) -> HtmlPage:
    """Return text and links of a page by patterns alone; hidden text is not told apart."""
    targets: list[LinkTarget] = []
    for match in _TARGET.finditer(source):
        if len(targets) >= links:
            findings.add("links-too-many")
            break
        place = {"href": EntityLocation.ANCHOR, "src": EntityLocation.PICTURE}.get(
            match[1].lower(), EntityLocation.FORM
        )
        targets.append(LinkTarget(entities.unescape(match[2] or match[3] or match[4]), "", place))
    text = fold_lines(entities.unescape(_TAG.sub("", _broken(source))))
    return HtmlPage(text=text, targets=tuple(targets), skeleton=skeleton(source))
