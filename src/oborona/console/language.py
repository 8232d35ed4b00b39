"""The languages of the console: English as it stands in the source, and translations of it.

In templates `_("…")` and `ngettext("…", "…", n)` translate into the language of who looks; so do
`gettext` and `ngettext` here.  `marked` says of a constant that it is translated where it is shown.
"""

from __future__ import annotations

import gettext as catalogues
import re
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from oborona.console.po_file import PoEntry, read_po

LOCALE: Final = Path(__file__).with_name("locale")
ENGLISH: Final = "en"
PSEUDO: Final = "xx"  # longer than any: shows what does not fit, and what nobody translates
LANGUAGES: Final = {ENGLISH: "English", "ru": "Русский"}
"""What people may choose, by their codes, in their own words."""
UTC: Final = ZoneInfo("UTC")

_PLACE: Final = re.compile(r"(%\(\w+\)[sd]|%%)")
_PLURAL: Final = re.compile(r"plural=([^;]+);")


class Language(msgspec.Struct, frozen=True):
    """One of them.

    Args:
        code: as in `lang` of a page.
        texts: translations by English text.
        plurals: forms by English text in the singular.
        form: which form a number has.
        pseudo: made of the English text, for tests.
    """

    code: str
    texts: Mapping[str, str] = {}
    plurals: Mapping[str, Sequence[str]] = {}
    form: Callable[[int], int] = lambda n: int(n != 1)
    pseudo: bool = False

    def text(self, english: str) -> str:
        """Return a text in this language."""
        return _stretched(english) if self.pseudo else self.texts.get(english, english)

    def number(self, one: str, many: str, n: int) -> str:
        """Return a text in the form that a number needs."""
        forms = self.plurals.get(one)
        if forms:
            return forms[self.form(n)]
        return self.text(one if n == 1 else many)


class Viewer(msgspec.Struct, frozen=True):
    """Who looks at the page that is being made.

    Args:
        language: theirs.
        zone: of their clock.
        form_token: makes the token of a form of theirs.
        desk: tells which other machine the page is about; empty: none.
    """

    language: Language = Language(ENGLISH)
    zone: ZoneInfo = UTC
    form_token: Callable[[], str] = str
    desk: Callable[[], str] = str


VIEWER: Final[ContextVar[Viewer]] = ContextVar("viewer", default=Viewer())  # noqa: B039 - frozen


def gettext(text: str) -> str:
    """Return a text in the language of who looks."""
    return VIEWER.get().language.text(text)


def ngettext(one: str, many: str, n: int) -> str:
    """Return a text in the language of who looks, in the form that a number needs."""
    return VIEWER.get().language.number(one, many, n)


@cache
def own_texts() -> frozenset[str]:
    """Return all texts that pages are made of, in English: those that are translated."""
    languages = load_languages().values()
    return frozenset(text for one in languages for text in (*one.texts, *one.plurals))


def marked(text: str) -> str:
    """Return a text as it is: it is translated where it is shown."""
    return text


def load_languages(*, pseudo: bool = False) -> dict[str, Language]:
    """Return the languages, by their codes.

    Args:
        pseudo: also the one for tests.

    Raises:
        ValueError: a file of translations is damaged.
    """
    languages = {code: _load(code) for code in LANGUAGES}
    if pseudo:
        languages[PSEUDO] = Language(PSEUDO, pseudo=True)
    return languages


def chosen_language(languages: Mapping[str, Language], *wishes: str) -> Language:
    """Return the first language that is there among wishes.

    Args:
        languages: by their codes.
        wishes: codes, the dearest first, each of them perhaps empty; a browser's Accept-Language is
            many.
    """
    for wish in wishes:
        for code in _by_weight(wish):
            if code in languages:
                return languages[code]
    return languages[ENGLISH]


def zone_of(name: str) -> ZoneInfo | None:
    """Return the time zone of a name; None: there is none of it."""
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _by_weight(wish: str) -> list[str]:
    """Return the codes of an Accept-Language, the dearest first, without their countries."""
    weighed = []
    for part in wish[:200].split(","):
        code, _, weight = part.strip().lower().partition(";q=")
        try:
            weighed.append((-float(weight or 1), code.partition("-")[0]))
        except ValueError:
            continue
    return [code for _, code in sorted(weighed, key=lambda one: one[0])]


def _load(code: str) -> Language:
    if code == ENGLISH:
        return Language(code)
    texts: dict[str, str] = {}
    plurals: dict[str, list[str]] = {}
    form = catalogues.c2py("n != 1")
    for path in sorted((LOCALE / code).glob("*.po")):
        for entry in read_po(path.read_text(encoding="utf-8")):
            if not entry.text:
                form = _form(entry)
            elif entry.plural and all(entry.translations):
                plurals[entry.text] = entry.translations
            elif entry.translations[0]:
                texts[entry.text] = entry.translations[0]
    return Language(code, texts, plurals, form)


def _form(head: PoEntry) -> Callable[[int], int]:
    found = _PLURAL.search(head.translations[0])
    if found is None:
        raise ValueError("the head of a file of translations has no Plural-Forms")
    return catalogues.c2py(found[1])


def _stretched(english: str) -> str:
    """Return a text that is four tenths longer, with its placeholders."""
    parts = [
        part if number % 2 else part + "·" * (len(part) * 4 // 10)
        for number, part in enumerate(_PLACE.split(english))
    ]
    return f"⟦{''.join(parts)}⟧"
