"""Templates: all compiled when the console starts; what they are given is text and escaped; a name
that is not there is an error.

What they may use beside Jinja's own: `_`, `ngettext`, `m` (the macros of macros.html), `static`,
`form_token`, and the filters `shown`, `peer`, `lines`, `flat`, `moment`, `count`, `share`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from oborona.console.language import LANGUAGES, VIEWER, gettext, ngettext, own_texts
from oborona.console.names import ROLES
from oborona.console.static_files import StaticFiles
from oborona.plain_text import plain_text

FOLDER: Final = Path(__file__).with_name("templates")


class TemplateSet:
    """All of them.

    Args:
        static: files that pages name.

    Raises:
        jinja2.TemplateSyntaxError: one is none.
    """

    def __init__(self, static: StaticFiles) -> None:
        environment = Environment(
            loader=FileSystemLoader(FOLDER),
            extensions=["jinja2.ext.i18n"],
            autoescape=True,
            undefined=StrictUndefined,
            auto_reload=False,
            cache_size=-1,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.install_gettext_callables(own_text, ngettext, newstyle=True)  # type: ignore[attr-defined]
        environment.filters |= {
            "shown": shown,
            "flat": flat,
            "peer": peer,
            "lines": lines,
            "moment": moment,
            "count": count,
            "share": share,
        }
        environment.globals |= {
            "static": static.url,
            "languages": LANGUAGES,
            "roles": ROLES,
            "form_token": lambda: VIEWER.get().form_token(),
            "desk_of_page": lambda: VIEWER.get().desk(),
        }
        environment.globals["m"] = environment.get_template("macros.html").module
        self._environment = environment
        for name in environment.list_templates():
            environment.get_template(name)

    def render(self, name: str, /, **values: object) -> str:
        """Return a page.

        Raises:
            jinja2.UndefinedError: it needs a value that it was not given.
        """
        language = VIEWER.get().language.code
        return self._environment.get_template(name).render(language=language, **values)


def own_text(text: str) -> str:
    """Return a text of ours in the language of who looks; what is no text of ours is escaped.

    Jinja takes what comes from here for markup, and for a format: so a template that asks for the
    translation of a stranger's words shows them as they are.
    """
    if text in own_texts():
        return gettext(text)
    return str(escape(text)).replace("%", "%%")


def shown(text: object) -> Markup:
    """Return text of a stranger with marks for what does not print."""
    return Markup(plain_text(str(escape(text)), _mark))  # noqa: S704 - escaped right here


def lines(text: object) -> Markup:
    """Return the same with its lines and tabs: for an element that keeps them."""
    return Markup(plain_text(str(escape(text)), _mark, "\n\t"))  # noqa: S704 - the same


def flat(text: object) -> str:
    """Return text of a stranger for an attribute that is read aloud, where no mark can stand."""
    return plain_text(str(text), lambda _: "\N{REPLACEMENT CHARACTER}")


def peer(text: object) -> Markup:
    """Return text of a stranger whose direction of writing ends with it."""
    return Markup(f"<bdi>{shown(text)}</bdi>")  # noqa: S704 - the same


def moment(seconds: float, *, date: bool = True) -> Markup:
    """Return a time in the zone of who looks, with the universal one for who hovers.

    Args:
        seconds: since 1970.
        date: whether the day is shown, too.
    """
    try:
        at = datetime.fromtimestamp(seconds, UTC)
        here = at.astimezone(VIEWER.get().zone)
    except (ValueError, OverflowError, OSError):
        return Markup("<span>?</span>")
    text = here.strftime("%Y-%m-%d %H:%M:%S" if date else "%H:%M:%S")
    exact, read = at.strftime("%Y-%m-%dT%H:%M:%SZ"), at.strftime("%Y-%m-%d %H:%M:%S UTC")
    return Markup('<time datetime="{}" title="{}">{}</time>').format(exact, read, text)


def count(number: float) -> str:
    """Return a whole number with narrow blanks between its thousands."""
    return f"{number:,.0f}".replace(",", "\u202f")


def share(part: float, digits: int = 0) -> str:
    """Return a part of one as per cent."""
    return f"{100 * part:.{digits}f}\u00a0%"


def _mark(letter: str) -> str:
    return f'<span class="mark">U+{ord(letter):04X}</span>'
