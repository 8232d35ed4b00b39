"""Texts as the audit log keeps them: Unicode, cut, without secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

TEXT: Final = 200  # letters of a text
MESSAGE: Final = 500  # letters of an error
VALUE: Final = 100  # letters of each of several
VALUES: Final = 20  # of an argument that may be repeated
ARGUMENTS: Final = 6000  # octets of all arguments
HIDDEN: Final = "(not kept)"
BEYOND: Final = 1000  # letters behind those that are kept, where a password may end
# of a URL: who logs in, and by what; the second also where the text was cut within
_LOGIN: Final = re.compile(r"(?<=://)[^/@\s:]*:[^/@\s]*(?=@)")
_CUT_LOGIN: Final = re.compile(r"(?<=://)[^/@\s:]*:[^/@\s]*(?=@|\Z)")
_SECRET: Final = re.compile(
    r"(?i)(pass(word|wd|phrase)?|secret|token|api[_-]?key|credential)s?(_|\b|$)"
)


def is_secret(name: str) -> bool:
    """Whether what goes by this name is a secret by its name."""
    return _SECRET.search(name) is not None


def cut_text(text: str, most: int = TEXT) -> str:
    """Return a text of at most so many letters, all of them Unicode; logins in URLs are left out.

    Octets that were no UTF-8, and halves of surrogates, stand there as escapes.
    """
    whole = len(text) <= most + BEYOND
    kept = text[: most + BEYOND].encode("utf-8", "backslashreplace").decode()
    kept = (_LOGIN if whole else _CUT_LOGIN).sub(HIDDEN, kept)
    return kept if whole and len(kept) <= most else f"{kept[: most - 1]}…"


def cut_values(values: Sequence[str]) -> list[str]:
    """Return at most so many texts, with how many more there were."""
    kept = [cut_text(value, VALUE) for value in values[:VALUES]]
    return kept if len(values) <= VALUES else [*kept, f"and {len(values) - VALUES} more"]


def arguments_json(arguments: Mapping[str, str | Sequence[str]]) -> str:
    """Return arguments as one JSON object; those that have no room are named and no more."""
    kept: dict[str, object] = {}
    room = ARGUMENTS
    for name, value in arguments.items():
        shown: object = (
            HIDDEN
            if is_secret(name)
            else cut_text(value)
            if isinstance(value, str)
            else cut_values(value)
        )
        size = len(msgspec.json.encode(shown))
        kept[name] = shown if size <= room else "…"
        room -= min(size, room)
    return msgspec.json.encode(kept).decode()
