r"""A pattern's letters in the form that normalised text has.

    ASCII                         as it is; capital letters are refused: the text has none, and the pattern would never match
    letters outside ASCII         as `normalise` turns them: Cyrillic \u0430 becomes a, as in the text
    escapes (\W, \pL, \x{41})     as they are

Limits: inside [...] a letter that normalises to several is refused, as is a range of letters outside ASCII, for no such range is left.
"""

from __future__ import annotations

from typing import Final

from oborona.message.normalise import normalise

MAX_PATTERN: Final = 500  # characters; longer lists of words are phrases
_META: Final = frozenset("\\.+*?()|[]{}^$")


def folded(pattern: str) -> str:
    """Return the pattern with its letters normalised.

    Raises:
        ValueError: it holds what normalised text never does, or is too long.
    """
    if len(pattern) > MAX_PATTERN:
        raise ValueError(f"is {len(pattern)} characters long; at most {MAX_PATTERN} are allowed")
    found: list[str] = []
    at, inside = 0, False
    while at < len(pattern):
        letter = pattern[at]
        if letter < " " or letter == "\x7f":
            raise ValueError(f"holds the control character U+{ord(letter):04X}; write it as an escape")
        end = (
            _escape(pattern, at)
            if letter == "\\"
            else _group(pattern, at)
            if letter == "(" and not inside
            else at + 1
        )
        if end > at + 1:
            found.append(pattern[at:end])
        elif letter in "[]":
            inside = _is_class(pattern, at, inside=inside)
            found.append(letter)
        elif letter.isascii():
            if letter.isupper():
                raise ValueError(
                    f"holds the capital letter {letter}, and the text it looks in has small ones only"
                )
            found.append(letter)
        else:
            found.append(_folded(pattern, at, inside=inside))
        at = end
    return "".join(found)


def _escape(pattern: str, at: int) -> int:
    """Return where an escape ends; that of a class or a code in braces with them."""
    sort = pattern[at + 1 : at + 2]
    if sort == "Q":
        raise ValueError(r"write escapes one by one; \Q is not taken")
    if sort in ("p", "P", "x") and pattern[at + 2 : at + 3] == "{":
        closed = pattern.find("}", at)
        return closed + 1 if closed > 0 else len(pattern)
    return at + 3 if sort in ("p", "P") else at + 2


def _group(pattern: str, at: int) -> int:
    """Return where the opening of a group ends: its name and flags are no text."""
    if not pattern.startswith("(?", at):
        return at + 1
    if pattern.startswith(("(?P<", "(?<"), at):
        closed = pattern.find(">", at)
        return closed + 1 if closed > 0 else len(pattern)
    end = at + 2
    while end < len(pattern) and pattern[end] in "imsU-":
        end += 1
    return end


def _is_class(pattern: str, at: int, *, inside: bool) -> bool:
    """Tell whether [...] goes on behind the bracket at a place."""
    if pattern[at] == "[":
        return True
    opened = pattern[:at].endswith(("[", "[^")) and not pattern[:at].endswith(("\\[", "\\[^"))
    return inside and opened  # a ] that comes first is a member


def _folded(pattern: str, at: int, *, inside: bool) -> str:
    letter = pattern[at]
    text = normalise(letter)
    if not text and not letter.isspace():
        raise ValueError(
            f"holds the invisible character U+{ord(letter):04X}, which the text it looks in has not"
        )
    text = "".join(f"\\{each}" if each in _META else each for each in text or " ")
    if not inside:
        return text if len(text) == 1 else f"(?:{text})"
    if pattern[at - 1] == "-" or pattern[at + 1 : at + 2] == "-":
        raise ValueError(
            f"holds a range with {letter}; write its letters one by one, or \\pL for all letters"
        )
    if len(text) > 1:
        raise ValueError(
            f"holds {letter} between brackets, where it would be {text}; write (?:...|...) instead"
        )
    return text
