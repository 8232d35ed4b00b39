"""Which elements of a page hide their text, and marks for it in the tree.

Each element with a style, a colour, a background or the `hidden` attribute gets a mark before and
after it: text nodes that start with NUL, which the HTML standard lets no page put into a text
(WHATWG HTML s13.2.5.1, s13.2.6.4.7). The text of the page is then taken in one call, and read mark
by mark with a stack. No node is ever removed: nodes of a freed branch would dangle.

    hides          display:none and the like: all inside is hidden, whatever it says itself
    tiny, colour   a font below 2 px, or a colour like its background: inherited, and a descendant
                   may set it right again

Limits: `MAX_STYLED` elements of a page are looked at; colours are compared where both are known,
else the text is visible.
"""

from __future__ import annotations

from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from oborona.message.css import PLAIN, CssRule, CssStyle, rules, style
from oborona.message.css_colours import Colour, attribute_colour
from oborona.message.findings import Findings

MAX_STYLED: Final = 5000  # elements; large newsletters have 2,000
# characters of all style sheets of a message; large newsletters have 40 kB
MAX_SHEETS: Final = 128 << 10
# elements that the rules of a message select, each counted with each rule
MAX_SELECTED: Final = 30_000
# elements of a message, each counted with each rule that asks what it stands in: 0.2 s, where each
# is the deepest
MAX_LOOKED_AT: Final = 150_000
MAX_DEPTH: Final = 60  # elements in elements where such rules are heeded; deep newsletters reach it
NEAR: Final = 10  # of 255 in each channel: closer colours cannot be told apart
_WHITE: Final = (255, 255, 255)
_BLACK: Final = (0, 0, 0)
_LINK: Final = (0, 0, 238)
_STYLED: Final = "[style],[hidden],[bgcolor],[background],font[color],body[text],bdo[dir],dialog"
_UNREAD: Final = "script,style,title,iframe,noembed,noframes,datalist,object>param"

DROP, HIDE, TINY, READABLE, SAME, DIFFERENT, END = "\0d", "\0h", "\0t", "\0r", "\0s", "\0v", "\0e"
"""Marks: text that nobody reads; hidden; font too small, readable again.

Colour like its background, visible again; end.
"""
TURN, TURN_END = "\u202e", "\u202c"
"""Around what stands from right to left by its style: the characters that do the same (UAX 9)"""


def mark(tree: LexborHTMLParser, findings: Findings, *, sheets: bool = True) -> None:
    """Put marks around all elements of `tree` that change whether text is seen.

    Args:
        tree: the page.
        findings: counts the work.
        sheets: it may have style sheets.
    """
    styles: dict[int, CssStyle] = {}
    nodes: dict[int, LexborNode] = {}
    for rule in _style_rules(tree, findings) if sheets else ():
        try:
            selected = tree.css(rule.selector)
        except (SelectolaxError, ValueError):
            continue
        if not findings.afford("selected", len(selected), MAX_SELECTED):
            break
        for node in selected[:MAX_STYLED]:
            nodes[node.mem_id] = node
            styles[node.mem_id] = rule.style.over(styles.get(node.mem_id, PLAIN))
    for node in tree.css(_STYLED)[:MAX_STYLED]:
        identity = node.mem_id
        says = _own(node)
        if identity in styles:
            says = says.over(styles[identity])
        if says != PLAIN:
            nodes[identity] = node
            styles[identity] = says
    any_tiny = any(says.tiny for says in styles.values())
    for identity, says in styles.items():
        node = nodes[identity]
        if says.turned and node.parent is not None:
            node.insert_before(TURN)
            node.insert_after(TURN_END)
        if says.hides or says.displayed is False:
            surround(node, HIDE)
        elif any_tiny and says.tiny is not None:
            surround(node, TINY if says.tiny else READABLE)
    if _alike_somewhere(styles):
        _mark_colours(tree, styles, nodes)
    for node in tree.css(_UNREAD):
        surround(node, DROP)


def _style_rules(tree: LexborHTMLParser, findings: Findings) -> list[CssRule]:
    """Return the rules of all style sheets, the lighter before the heavier."""
    css_rules: list[CssRule] = []
    for sheet in tree.css("style")[:20]:
        source = sheet.text()
        if not findings.afford("sheets", len(source), MAX_SHEETS):
            break
        css_rules += rules(source)
    if any(rule.inside for rule in css_rules):
        elements = 0 if tree.css_first(_DEEP) is not None else len(tree.css("*"))
        css_rules = [
            rule
            for rule in css_rules
            if not rule.inside
            or (elements and findings.afford("looked at", elements, MAX_LOOKED_AT))
        ]
    return sorted(css_rules, key=lambda rule: rule.weight)


_DEEP: Final = " > ".join("*" * MAX_DEPTH)


def _own(node: LexborNode) -> CssStyle:
    """Return the style that an element's own attributes give it."""
    attributes = node.attributes
    block = attributes.get("style")
    says = style(block) if block else PLAIN
    colour = attributes.get("color") or attributes.get("text")
    ground = attributes.get("bgcolor")
    displayed = (
        False
        if "hidden" in attributes or (node.tag == "dialog" and "open" not in attributes)
        else None
    )
    pictured = bool(attributes.get("background"))
    turned = node.tag == "bdo" and (attributes.get("dir") or "").strip().lower() == "rtl"
    if colour or ground or displayed is False or pictured or turned:
        says = says.over(
            CssStyle(
                displayed=displayed,
                colour=attribute_colour(colour)
                if colour and node.tag in {"font", "body"}
                else None,
                background=attribute_colour(ground) if ground else None,
                pictured=pictured,
                turned=turned,
            )
        )
    return says


def surround(node: LexborNode, opening: str) -> None:
    """Put a mark before an element, and END behind it."""
    tag = node.tag
    if tag == "body":  # the text is taken from inside it: its mark holds to the end
        if (first := node.first_child) is not None:
            first.insert_before(opening)
        return
    if node.parent is not None and tag not in {"html", "head"}:
        node.insert_before(opening)
        node.insert_after(END)


def _alike(first: Colour, second: Colour) -> bool:
    return (
        abs(first[0] - second[0]) <= NEAR
        and abs(first[1] - second[1]) <= NEAR
        and abs(first[2] - second[2]) <= NEAR
    )


def _alike_somewhere(styles: dict[int, CssStyle]) -> bool:
    """Return whether any text colour of the page is like any background: mostly not, which saves
    the walk.
    """
    colours = {says.colour for says in styles.values() if says.colour}
    grounds = {says.background for says in styles.values() if says.background} | {_WHITE}
    if any(says.transparent for says in styles.values()):
        return True
    if any(_alike(ground, _BLACK) for ground in grounds):
        colours.add(_BLACK)  # text without a colour on black
    return any(_alike(colour, ground) for colour in colours for ground in grounds)


def _mark_colours(
    tree: LexborHTMLParser, styles: dict[int, CssStyle], nodes: dict[int, LexborNode]
) -> None:
    """Mark elements whose colour is like their background, and those inside that can be read
    again.
    """
    cache: dict[
        int, tuple[Colour | None, Colour | None]
    ] = {}  # identity -> colour, background (None = not known)
    order = [*nodes.values(), *tree.css("a[href]")[:MAX_STYLED]]
    marks: list[tuple[LexborNode, bool]] = []

    def effective(node: LexborNode) -> tuple[Colour | None, Colour | None]:
        """Return colour and background of an element, from its nearest relevant ancestors."""
        chain = []
        above: LexborNode | None = node
        colours: tuple[Colour | None, Colour | None] = (_BLACK, _WHITE)
        while above is not None:
            identity = above.mem_id
            if identity in cache:
                colours = cache[identity]
                break
            chain.append((identity, above))
            above = above.parent
        for identity, element in reversed(chain):
            says = styles.get(identity, PLAIN)
            colour, ground = colours
            if says.colour or says.coloured:
                colour = says.colour
            elif element.tag == "a":
                colour = _LINK
            if says.background:
                ground = says.background
            if says.pictured:
                ground = None
            colours = (colour, ground)
            cache[identity] = colours
        return colours

    for node in order:
        says = styles.get(node.mem_id, PLAIN)
        if not (
            says.colour
            or says.background
            or says.transparent
            or says.pictured
            or says.coloured
            or node.tag == "a"
        ):
            continue
        colour, ground = effective(node)
        same = colour is not None and ground is not None and _alike(colour, ground)
        marks.append((node, says.transparent or same))
    if any(same for _, same in marks):
        for node, same in marks:
            surround(node, SAME if same else DIFFERENT)
