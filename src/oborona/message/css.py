"""Inline styles and simple style sheets (CSS), as far as they hide text.

A declaration block becomes a `CssStyle`: does it hide whatever is inside (display, visibility,
opacity, boxes of no size, far off the page, scaled or clipped to nothing), and what font size,
colour and background does it set, or whether it turns letters round. Escapes and comments, which
hide a property from simple patterns, are undone first.

Limits: `!important` is known of display alone; lengths in px, pt, em, rem and %; of style sheets
only rules whose selectors are made of elements, classes and ids, side by side or one in another,
outside @media or in one for every screen or for all but narrow ones. Layout is not computed: text
under a picture counts as visible.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from oborona.message.css_colours import Colour, colour, only_a_browser_knows

MAX_STYLE: Final = 2000  # characters of one block
MAX_SHEET: Final = 64 << 10  # characters of one style sheet
MAX_SELECTORS: Final = 1000  # characters before a block
MAX_RULES: Final = 200  # of one page, applied
TINY_PX: Final = 2.0  # a font below this cannot be read
OUTSIDE_PX: Final = 3000.0  # to the right or below by more than this is beyond any screen
FAR_PX: Final = 500.0  # to the left or above by more than this is off the page

_NOTHING: Final = re.compile(  # shapes and scales that leave nothing of a box
    r"inset\(\s*(?:100|50|9\d)%|(?:circle|ellipse)\(\s*0(?:px|%)?[\s)]|polygon\(\s*0(?:px|%)?\s+0(?:px|%)?\s*\)|scale[xy3d]*\(\s*0*\.?0*\s*[,)]|opacity\(\s*0*\.?0*%?\s*\)"
)
_MOVED: Final = re.compile(r"translate[xy3d]*\(([^)]*)\)")
_EVERY_SCREEN: Final = re.compile(  # also those that only a telephone is too narrow for
    r"@media\s+(?:only\s+)?(?:(?:all|screen)\b\s*)?(?:and\s*)?(?:\(\s*min-(?:device-)?width\s*:\s*\d{1,3}(?:\.\d{1,3})?px\s*\)\s*)?\{",
    re.IGNORECASE,
)
_COMMENT: Final = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\([0-9a-fA-F]{1,6})\s?|\\(.)", re.DOTALL)
_LENGTH: Final = re.compile(r"(-?(?:\d{1,6}(?:\.\d{0,6})?|\.\d{1,6}))\s*(px|pt|em|rem|%|)")
# What is no rule is matched too, without its last group: a search that failed would begin again at
# each character.
_AT_BLOCK: Final = re.compile(r"@[^{};]*+((?>;|\{(?>[^{}]*+\{[^{}]*+\})*+[^{}]*+\}?))?+")
_RULE: Final = re.compile(r"([^{}]++)(?>\{([^{}]*+)\})?+")
_COMPOUND: Final = (
    r"(?:[a-zA-Z][a-zA-Z0-9]*+(?>[.#]-?[_a-zA-Z][\w-]*+){0,3}+|(?>[.#]-?[_a-zA-Z][\w-]*+){1,3}+)"
)
_SELECTOR: Final = re.compile(rf"{_COMPOUND}(?:(?:\s*>\s*|\s+){_COMPOUND}){{0,4}}", re.ASCII)
_ELEMENT: Final = re.compile(r"(?:^|[\s>])[a-zA-Z]")
_INSIDE: Final = re.compile(r"[\s>]")
_PX: Final = {"px": 1.0, "": 1.0, "pt": 4 / 3, "em": 16.0, "rem": 16.0, "%": 0.16}


class CssStyle(msgspec.Struct, frozen=True, gc=False):
    """What a declaration block says about being seen; None = says nothing."""

    hides: bool = False
    displayed: bool | None = None  # False = display:none
    firmly: bool = False  # with !important
    tiny: bool | None = None  # a font too small to read, or a readable one
    colour: Colour | None = None
    transparent: bool = False  # the text's colour is no colour
    background: Colour | None = None
    # a background picture, gradient or variable: nothing is known of its colour
    pictured: bool = False
    coloured: bool = False  # the text's colour is one that only a browser can tell
    turned: bool = False  # its letters stand from right to left, whatever they are

    def over(self, under: CssStyle) -> CssStyle:
        """Return the style of a node that has both, this one on top."""
        keeps_display = self.displayed is None or (under.firmly and not self.firmly)
        return CssStyle(
            self.hides or under.hides,
            under.displayed if keeps_display else self.displayed,
            self.firmly or under.firmly,
            under.tiny if self.tiny is None else self.tiny,
            under.colour if self.colour is None else self.colour,
            self.transparent or (under.transparent and self.colour is None),
            under.background if self.background is None else self.background,
            self.pictured or (under.pictured and self.background is None),
            self.coloured or (under.coloured and self.colour is None),
            self.turned or under.turned,
        )


PLAIN: Final = CssStyle()


class CssRule(NamedTuple):
    """A rule of a style sheet."""

    selector: str
    style: CssStyle
    weight: tuple[
        int, int, int
    ]  # ids, classes, elements of its selector: the heavier rule wins (Selectors Level 4 s17)
    inside: bool  # it also says what the element stands in


def style(block: str) -> CssStyle:
    """Return what a declaration block ("color:#fff; display:none") says."""
    return _style(block[:MAX_STYLE])  # cut before it is remembered


@lru_cache(maxsize=4096)
def _style(block: str) -> CssStyle:
    if "/*" in block:
        block = _COMMENT.sub("", block)
    if "\\" in block:
        block = _ESCAPE.sub(_unescape, block)
    declared: dict[str, str] = {}
    firmly = False
    for declaration in block.lower().split(";"):
        name, colon, value = declaration.partition(":")
        if colon:
            stated, important, _ = value.partition("!")
            declared[name.strip()] = stated.strip()
            firmly = firmly or (bool(important) and name.strip() == "display")
    if not declared:
        return PLAIN
    text = declared.get("color", "")
    text_colour, transparent = colour(text)
    transparent = transparent or colour(declared.get("-webkit-text-fill-color", ""))[1]
    ground = declared.get("background-color") or declared.get("background", "")
    pictured = (
        "url(" in ground
        or "gradient" in ground
        or declared.get("background-image", "none") != "none"
    )
    background = None
    for word in [ground] if ground.startswith(("rgb", "hsl")) else ground.split():
        background = background or colour(word)[0]
    pictured = pictured or (background is None and only_a_browser_knows(ground))
    turned = (
        declared.get("unicode-bidi", "").endswith("override") and declared.get("direction") == "rtl"
    )
    display = declared.get("display")
    return CssStyle(
        _hides(declared),
        None if display is None else display != "none",
        firmly,
        _tiny(declared),
        text_colour,
        transparent,
        background,
        pictured,
        text_colour is None and only_a_browser_knows(text),
        turned,
    )


def _unescape(match: re.Match[str]) -> str:
    if match[2] is not None:
        return match[2]
    code = int(match[1], 16)
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"


def _hides(declared: dict[str, str]) -> bool:
    get = declared.get
    if get("visibility") in {"hidden", "collapse"}:
        return True
    opacity = _LENGTH.match(get("opacity", ""))
    if opacity and float(opacity[1]) * (0.01 if opacity[2] == "%" else 1) <= 0.05:
        return True
    if get("overflow", "") in {"hidden", "clip"}:
        for name in ("height", "max-height", "width", "max-width"):
            size = _px(get(name, ""))
            if size is not None and size <= 1:
                return True
    indent = _px(get("text-indent", ""), 0.0)
    if indent < -FAR_PX or indent > OUTSIDE_PX:  # type: ignore[operator]
        return True
    if get("zoom") in {"0", "0%"} or get("content-visibility") == "hidden":
        return True
    shaped = " ".join(filter(None, map(get, ("clip-path", "transform", "filter"))))
    if shaped and _shaped_away(shaped):
        return True
    names = ["margin-left", "margin-top"]
    if get("position") in {"absolute", "fixed", "relative"}:
        names += ["left", "top"]
        if any((_px(get(name, "")) or 0.0) < -FAR_PX for name in ("right", "bottom")):
            return True
        if get("clip", "").replace(" ", "").replace("px", "").replace(",", "") in {
            "rect(0000)",
            "rect(1111)",
        }:
            return True
    lengths = [_px(get(name, "")) or 0.0 for name in names]
    return any(length < -FAR_PX or length > OUTSIDE_PX for length in lengths)


def _shaped_away(shaped: str) -> bool:
    """Return whether clip-path, transform or filter leave nothing of a box on the page."""
    if _NOTHING.search(shaped):
        return True
    moved = _MOVED.search(shaped)
    return moved is not None and any(
        abs(_px(way.strip(), 0.0) or 0.0) > OUTSIDE_PX / 2 for way in moved[1].split(",")
    )


def _tiny(declared: dict[str, str]) -> bool | None:
    size = _px(declared.get("font-size", ""))
    if size is None and "font" in declared:
        lengths = [match for match in _LENGTH.finditer(declared["font"]) if match[2]]
        size = float(lengths[0][1]) * _PX[lengths[0][2]] if lengths else None
    return None if size is None else size < TINY_PX


def _px(value: str, default: float | None = None) -> float | None:
    match = _LENGTH.match(value)
    return float(match[1]) * _PX[match[2]] if match else default


def rules(sheet: str) -> list[CssRule]:
    """Return the rules of a style sheet that say anything about being seen, in their order."""
    sheet = _COMMENT.sub("", sheet[:MAX_SHEET]).replace("<!--", "").replace("-->", "")
    css_rules: list[CssRule] = []
    for match in _RULE.finditer(_AT_BLOCK.sub(_without_block, sheet) if "@" in sheet else sheet):
        says = style(match[2]) if match[2] else PLAIN
        if says == PLAIN:
            continue
        for written in match[1][-MAX_SELECTORS:].split(","):
            selector = written.strip()
            if _SELECTOR.fullmatch(selector):
                ids, classes = selector.count("#"), selector.count(".")
                elements = len(_ELEMENT.findall(selector))
                css_rules.append(
                    CssRule(
                        selector,
                        says,
                        (ids, classes, elements),
                        _INSIDE.search(selector) is not None,
                    )
                )
                if len(css_rules) >= MAX_RULES:
                    return css_rules
    return css_rules


def _without_block(match: re.Match[str]) -> str:
    if match[1] is None:
        return match[0]
    inside = _EVERY_SCREEN.match(match[0])
    return match[0][inside.end() :].removesuffix("}") if inside else ""
