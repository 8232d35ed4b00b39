"""The form in which a fact holds its texts, and a text of a rule brought into it.

    sent     as it was sent
    capital  in capitals
    small    in lower case
    letters  in lower case, letter by letter: the Greek sigma that ends a word is as any other, for
             engines of tables don't know which does
    folded   `normalise`d: lower case, look-alike letters made Latin, invisible characters out,
             white space one space

What a rule compares with a fact is brought into the fact's form when the rule is compiled, by the
function that made the fact: `Casino` becomes `casino`, and a Russian word the mixture of letters in
which it stands in a folded text. Two facts of different forms are compared in the form that keeps
less of how they were written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final

from oborona.message.normalise import normalise, normalised_letters, normalised_piece

Value = str | Collection[str] | None
"""Of a fact of texts."""


class TextForm(Enum):
    """How a fact's texts are written; of two the later keeps less."""

    SENT = "as it was sent"
    CAPITAL = "in capitals"
    SMALL = "in lower case"
    LETTERS = "in lower case, letter by letter"
    FOLDED = "normalised"

    def whole(self, text: str) -> str:
        """Return a text as a fact of this form holds it."""
        return _WHOLE[self](text)

    def piece(self, text: str) -> str:
        """Return a piece of a text as it stands inside such a fact."""
        return normalised_piece(text) if self is TextForm.FOLDED else _WHOLE[self](text)

    def letters(self, letters: Iterable[str]) -> list[str]:
        """Return what becomes of each of some characters: one, several, or none."""
        return (
            normalised_letters(letters)
            if self is TextForm.FOLDED
            else list(map(_WHOLE[self], letters))
        )

    def common(self, other: TextForm) -> TextForm:
        """Return the form in which texts of this form and of another are compared."""
        return max(self, other, key=_ORDER.index)


def capital(value: Value) -> Value:
    """Return the value of a fact in capitals."""
    return _turn_value(str.upper, value)


def small(value: Value) -> Value:
    """Return the value of a fact in lower case."""
    return _turn_value(str.lower, value)


def letters(value: Value) -> Value:
    """Return the value of a fact in lower case, letter by letter."""
    return _turn_value(small_letters, value)


def small_letters(text: str) -> str:
    """Return a text in lower case, letter by letter."""
    return text.lower().replace("ς", "σ")  # noqa: RUF001 - both are Greek


def folded(value: Value) -> Value:
    """Return the value of a fact normalised."""
    return _turn_value(normalise, value)


def _turn_value(turn: Callable[[str], str], value: Value) -> Value:
    if value is None:
        return None
    return turn(value) if isinstance(value, str) else frozenset(map(turn, value))


_WHOLE: Final[Mapping[TextForm, Callable[[str], str]]] = MappingProxyType(
    {
        TextForm.SENT: str,
        TextForm.CAPITAL: str.upper,
        TextForm.SMALL: str.lower,
        TextForm.LETTERS: small_letters,
        TextForm.FOLDED: normalise,
    }
)
_ORDER: Final = tuple(TextForm)
