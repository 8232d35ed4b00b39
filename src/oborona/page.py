"""Pages that we write for people to look at: one file that needs nothing beside itself, is read
aloud in order, and prints.

What is put into an element is text, and escaped, unless it is `Markup` that an element gave before:
no name or reason that a stranger chose becomes a part of a page. Pages are well-formed XML and HTML
alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import Final

NONE: Final[Mapping[str, object]] = MappingProxyType({})
STYLE: Final = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
table { border-collapse: collapse; margin: 1rem 0; } caption { text-align: left; font-weight: 600; padding-bottom: .3rem; }
th, td { border-bottom: 1px solid #ccc; padding: .25rem .8rem .25rem 0; text-align: left; vertical-align: top; }
figure { margin: 1rem 0; } svg { max-width: 100%; height: auto; }
@media print { body { margin: 0; max-width: none; font-size: 11pt; } h2 { break-after: avoid; } figure, tr { break-inside: avoid; } }
"""
_VOID: Final = frozenset({"br", "col", "hr", "meta", "wbr"})


class Markup(str):
    """A part of a page, in which every text is escaped."""

    __slots__ = ()


def element(name: str, attributes: Mapping[str, object] = NONE, *children: str) -> Markup:
    """Return an element.

    Args:
        name: its tag.
        attributes: their values are escaped.
        children: `Markup` is taken as it is, all else is text.
    """
    told = "".join(f' {key}="{_text(str(value))}"' for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{name}{told}/>")
    inner = "".join(child if isinstance(child, Markup) else _text(child) for child in children)
    return Markup(f"<{name}{told}>{inner}</{name}>")


def table(caption: str, head: Sequence[str] | None, rows: Iterable[Sequence[str]]) -> Markup:
    """Return a table.

    Args:
        caption: what it shows.
        head: titles of its columns; None = it has none.
        rows: their cells; the first of each is its title.
    """
    top = [element("caption", NONE, caption)]
    if head is not None:
        titles = (element("th", {"scope": "col"}, title) for title in head)
        top.append(element("thead", NONE, element("tr", NONE, *titles)))
    body = (
        element(
            "tr",
            NONE,
            element("th", {"scope": "row"}, row[0]),
            *(element("td", NONE, cell) for cell in row[1:]),
        )
        + "\n"
        for row in rows
    )
    return element("table", NONE, *top, element("tbody", NONE, Markup("".join(body))))


def figure(picture: Markup, caption: str, *more: str) -> Markup:
    """Return a picture with its caption, and what stands below.

    Args:
        picture: an element `svg` that says what it shows.
        caption: below it.
        more: below that.
    """
    return element("figure", NONE, picture, element("figcaption", NONE, caption), *more)


def page(title: str, style: str, *body: str) -> str:
    """Return a page.

    Args:
        title: its name.
        style: CSS of ours behind `STYLE`.
        body: what it holds.
    """
    head = element(
        "head",
        NONE,
        element("meta", {"charset": "utf-8"}),
        element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        element("title", NONE, title),
        element("style", NONE, Markup(STYLE + style)),
    )
    whole = element(
        "html", {"lang": "en"}, head, element("body", NONE, element("main", NONE, *body))
    )
    return f"<!DOCTYPE html>\n{whole}\n"


def _text(text: str) -> str:
    """Return what a peer may have written, as text of a page: no markup, no control characters,
    nothing that is no Unicode.
    """
    if not text.isprintable():
        text = "".join(
            letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text
        )
    return escape(text)
