"""Texts of the console: found in its sources, and kept in files of translations.

    python -m tests.console.texts        brings src/oborona/console/locale/ru/*.po up to date; what
                                         is to be translated stands there with an empty msgstr

A module or folder of pages has a file of its own name; what is shared stands in shell.po.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final

from babel.messages.extract import extract
from jinja2 import Environment
from jinja2.ext import babel_extract

from oborona.console import language
from oborona.console.po_file import PoEntry, read_po

CONSOLE: Final = Path(language.__file__).parent
TEMPLATES: Final = CONSOLE / "templates"
SHARED: Final = "shell"
KEYWORDS: Final[dict[str, Any]] = {
    "_": None,
    "gettext": None,
    "marked": None,
    "ngettext": (1, 2),
}
HEAD: Final = """msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Language: ru\\n"
"Plural-Forms: nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);\\n"
"""
READ_ALOUD: Final = frozenset({"title", "alt", "aria-label", "placeholder", "aria-description"})
"""Attributes that hold text for people."""
SAME_EVERYWHERE: Final = frozenset({"Oborona", "CSV", "JSON", "UTC", "·", "→", "?"})

_LETTER: Final = re.compile(r"[^\W\d_]")
_EXPRESSION: Final = "\ufffc"

Text = tuple[str, str]
"""A text and its plural, which may be empty."""


def subject(path: Path) -> str:
    """Return the name of the file that has the texts of a source."""
    where = path.relative_to(CONSOLE)
    if where.parts[0] in {"templates", "pages"} and len(where.parts) > 1:
        name = where.parts[1]
        if "." not in name or where.parts[0] == "pages":
            return Path(name).stem
    return SHARED


def found_texts() -> dict[str, list[Text]]:
    """Return all texts of the sources, by the file that they stand in."""
    found: dict[str, dict[Text, None]] = {SHARED: {}}
    for path in sorted((*CONSOLE.rglob("*.py"), *TEMPLATES.rglob("*.html"))):
        method: Any = "python" if path.suffix == ".py" else babel_extract
        options = {"trimmed": "false", "silent": "false"} if path.suffix == ".html" else {}
        with path.open("rb") as file:
            for _, message, _, _ in extract(method, file, KEYWORDS, (), options):
                one, many = message if isinstance(message, tuple) else (message, "")
                found.setdefault(subject(path), {})[(one, many)] = None
    shared = found[SHARED]
    return {
        name: [text for text in texts if name == SHARED or text not in shared]
        for name, texts in found.items()
        if name == SHARED or texts.keys() - shared.keys()
    }


def known_entries(code: str) -> dict[str, list[PoEntry]]:
    """Return the entries of all files of a language, by the names of these."""
    return {
        path.stem: list(read_po(path.read_text()))
        for path in (CONSOLE / "locale" / code).glob("*.po")
    }


def written(texts: list[Text], known: dict[Text, PoEntry]) -> str:
    """Return a file of translations."""
    parts = [HEAD]
    for one, many in texts:
        entry = known.get((one, many), PoEntry())
        lines = ["#, fuzzy"] if entry.fuzzy else []
        lines.append(f"msgid {_quoted(one)}")
        if many:
            lines.append(f"msgid_plural {_quoted(many)}")
            forms = entry.translations or ["", "", ""]
            lines += [f"msgstr[{number}] {_quoted(form)}" for number, form in enumerate(forms)]
        else:
            lines.append(f"msgstr {_quoted((entry.translations or [''])[0])}")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def bare_texts(template: str) -> Iterator[str]:
    """Yield what a template shows to people without `_()`.

    Args:
        template: its source.
    """
    environment = Environment(extensions=["jinja2.ext.i18n"], autoescape=True)
    pieces: list[str] = []
    inside, called = False, ""
    for _, kind, value in environment.lex(template):
        if kind == "data":
            pieces.append(value)
        elif kind in {"variable_begin", "block_begin"}:
            inside, called = kind == "variable_begin", ""
        elif kind == "variable_end" and inside:
            pieces.append(_EXPRESSION)
            inside = False
        elif kind == "name":
            called = value
        elif kind == "operator" and value == ")":
            called = ""
        elif kind == "string":
            text = value[1:-1]
            if called not in KEYWORDS and re.match(r"[A-Z][a-z]+(\s|\Z)", text):
                yield text
    shown = _ShownText()
    shown.feed("".join(pieces))
    shown.close()
    for text in shown.found:
        if text not in SAME_EVERYWHERE and _LETTER.search(text):
            yield text


class _ShownText(HTMLParser):
    """Gathers what a reader sees or hears."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take attributes that are read aloud."""
        self.found += [value.strip() for name, value in attrs if name in READ_ALOUD and value]

    def handle_data(self, data: str) -> None:
        """Take text between tags and expressions."""
        self.found += [part.strip(" ,.:;\u2013\n") for part in data.split(_EXPRESSION)]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def update(code: str = "ru") -> int:
    """Bring the files of a language up to date; return how many texts have no translation."""
    folder = CONSOLE / "locale" / code
    folder.mkdir(parents=True, exist_ok=True)
    entries = [entry for of_file in known_entries(code).values() for entry in of_file]
    known = {(entry.text, entry.plural): entry for entry in entries if any(entry.translations)}
    found = found_texts()
    for path in folder.glob("*.po"):
        if path.stem not in found:
            path.unlink()
    for name, texts in found.items():
        (folder / f"{name}.po").write_text(written(texts, known))
    return sum(text not in known for texts in found.values() for text in texts)


if __name__ == "__main__":
    print(f"{update()} texts have no translation")
