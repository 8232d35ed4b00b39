"""Inline styles and simple style sheets (CSS), as far as they hide text.

A declaration block becomes a `Style`: does it hide whatever is inside (display, visibility, opacity, boxes of no size, far
off the page, scaled or clipped to nothing), and what font size, colour and background does it set, or whether it turns letters round. Escapes and comments, which hide a property from
simple patterns, are undone first.

Limits: later wins, without `!important` or specificity; lengths in px, pt, em, rem and %; of style sheets only rules with one class, id or
element name as selector, outside @media or in one for every screen. Layout is not computed: text under a picture counts as visible.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import msgspec

Colour = tuple[int, int, int]

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
_EVERY_SCREEN: Final = re.compile(r"@media\s+(?:only\s+)?(?:all|screen)\s*\{")
_COMMENT: Final = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\([0-9a-fA-F]{1,6})\s?|\\(.)", re.DOTALL)
_LENGTH: Final = re.compile(r"(-?(?:\d{1,6}(?:\.\d{0,6})?|\.\d{1,6}))\s*(px|pt|em|rem|%|)")
# What is no rule is matched too, without its last group: a search that failed would begin again at each character.
_AT_BLOCK: Final = re.compile(r"@[^{};]*+(;|\{(?:[^{}]*+\{[^{}]*+\})*+[^{}]*+\}?)?+")
_RULE: Final = re.compile(r"([^{}]++)(?:\{([^{}]*+)\})?+")
_SELECTOR: Final = re.compile(
    r"[a-zA-Z][a-zA-Z0-9]*|(?:[a-zA-Z][a-zA-Z0-9]*)?[.#]-?[_a-zA-Z][\w-]*", re.ASCII
)
_RGB: Final = re.compile(r"rgba?\(\s*(\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3})(?:[\s,/]+([\d.]+)(%?))?\s*\)")
_PX: Final = {"px": 1.0, "": 1.0, "pt": 4 / 3, "em": 16.0, "rem": 16.0, "%": 0.16}
_NAMED: Final[dict[str, Colour]] = {  # CSS level 1 and the greys that hidden text uses
    "aqua": (0, 255, 255), "black": (0, 0, 0), "blue": (0, 0, 255), "fuchsia": (255, 0, 255), "gray": (128, 128, 128),
    "green": (0, 128, 0), "grey": (128, 128, 128), "lime": (0, 255, 0), "maroon": (128, 0, 0), "navy": (0, 0, 128),
    "olive": (128, 128, 0), "purple": (128, 0, 128), "red": (255, 0, 0), "silver": (192, 192, 192), "teal": (0, 128, 128),
    "white": (255, 255, 255), "yellow": (255, 255, 0), "snow": (255, 250, 250), "ivory": (255, 255, 240),
    "whitesmoke": (245, 245, 245), "ghostwhite": (248, 248, 255), "gainsboro": (220, 220, 220),
    "lightgray": (211, 211, 211), "lightgrey": (211, 211, 211), "orange": (255, 165, 0), "azure": (240, 255, 255),
}  # fmt: skip


class Style(msgspec.Struct, frozen=True, gc=False):
    """What a declaration block says about being seen; None = says nothing."""

    hides: bool = False
    tiny: bool | None = None  # a font too small to read, or a readable one
    colour: Colour | None = None
    transparent: bool = False  # the text's colour is no colour
    background: Colour | None = None
    pictured: bool = False  # a background picture or gradient: nothing is known of its colour
    turned: bool = False  # its letters stand from right to left, whatever they are

    def over(self, under: Style) -> Style:
        """Return the style of a node that has both, this one on top."""
        return Style(
            self.hides or under.hides,
            under.tiny if self.tiny is None else self.tiny,
            under.colour if self.colour is None else self.colour,
            self.transparent or (under.transparent and self.colour is None),
            under.background if self.background is None else self.background,
            self.pictured or under.pictured,
            self.turned or under.turned,
        )


PLAIN: Final = Style()


@lru_cache(maxsize=4096)
def style(block: str) -> Style:
    """Return what a declaration block ("color:#fff; display:none") says."""
    block = block[:MAX_STYLE]
    if "/*" in block:
        block = _COMMENT.sub("", block)
    if "\\" in block:
        block = _ESCAPE.sub(_unescape, block)
    declared: dict[str, str] = {}
    for declaration in block.lower().split(";"):
        name, colon, value = declaration.partition(":")
        if colon:
            declared[name.strip()] = value.replace("!important", "").strip()
    if not declared:
        return PLAIN
    colour, transparent = _colour(declared.get("color", ""))
    transparent = transparent or _colour(declared.get("-webkit-text-fill-color", ""))[1]
    ground = declared.get("background-color") or declared.get("background", "")
    pictured = "url(" in ground or "gradient" in ground or declared.get("background-image", "none") != "none"
    background = None
    for word in [ground] if ground.startswith("rgb") else ground.split():
        background = background or _colour(word)[0]
    turned = declared.get("unicode-bidi", "").endswith("override") and declared.get("direction") == "rtl"
    return Style(_hides(declared), _tiny(declared), colour, transparent, background, pictured, turned)


def _unescape(match: re.Match[str]) -> str:
    if match[2] is not None:
        return match[2]
    code = int(match[1], 16)
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"


def _hides(declared: dict[str, str]) -> bool:
    get = declared.get
    if get("display") == "none" or get("visibility") in {"hidden", "collapse"}:
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


@lru_cache(maxsize=1024)
def attribute_colour(value: str) -> Colour | None:
    """Return the colour of a `color` or `bgcolor` attribute: a name, #rgb, #rrggbb, or rrggbb."""
    value = value.strip().lower()
    return _colour(value)[0] or (_colour(f"#{value}")[0] if len(value) == 6 else None)


def _colour(value: str) -> tuple[Colour | None, bool]:
    """Return a colour and whether it is transparent."""
    if not value:
        return None, False
    if value in _NAMED:
        return _NAMED[value], False
    if value.startswith("#"):
        digits = value[1:9]
        if len(digits) in (3, 4):
            digits = "".join(digit * 2 for digit in digits)
        try:
            octets = bytes.fromhex(digits)
        except ValueError:
            return None, False
        if len(octets) < 3:
            return None, False
        return (octets[0], octets[1], octets[2]), len(octets) == 4 and octets[3] < 13
    if value == "transparent":
        return None, True
    match = _RGB.match(value)
    if match is None:
        return None, False
    red, green, blue = (min(255, int(match[field])) for field in (1, 2, 3))
    try:
        alpha = float(match[4] or 1) * (0.01 if match[5] else 1)
    except ValueError:
        alpha = 1.0
    return (red, green, blue), alpha <= 0.05


def rules(sheet: str) -> list[tuple[str, Style]]:
    """Return (selector, style) of a style sheet's simple rules that say anything about being seen."""
    sheet = _COMMENT.sub("", sheet[:MAX_SHEET]).replace("<!--", "").replace("-->", "")
    found = []
    for match in _RULE.finditer(_AT_BLOCK.sub(_without_block, sheet) if "@" in sheet else sheet):
        says = style(match[2]) if match[2] else PLAIN
        if says == PLAIN:
            continue
        for selector in match[1][-MAX_SELECTORS:].split(","):
            if _SELECTOR.fullmatch(selector.strip()):
                found.append((selector.strip(), says))
                if len(found) >= MAX_RULES:
                    return found
    return found


def _without_block(match: re.Match[str]) -> str:
    if match[1] is None:
        return match[0]
    inside = _EVERY_SCREEN.match(match[0])
    return match[0][inside.end() :].removesuffix("}") if inside else ""
