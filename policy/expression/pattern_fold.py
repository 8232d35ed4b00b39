r"""A pattern's letters in the form of the fact it is asked of.

    letters     as `Form` turns them: Бонус becomes bohyc where the fact is folded
    classes     each member, of ranges, too; one that becomes several letters stands beside the
                class: [ß] is (?:ss)
    white space one space, and none at the ends: `a +b` and `a \s\s b` find "a b"
    \w \d \s .  as they are: whatever such a class holds, it holds the form of

Refused is what no text of that form has (capitals by name, invisible characters), and classes that
would change their sense (letters of one script).

Limits: a class without its members ([^я]) leaves out their forms, so what leaves out the Cyrillic a
leaves out the Latin one; characters that become several are one to a dot only where they are
written out.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final
from unicodedata import category, normalize
from unicodedata import name as name_of

from oborona.message.normalise import look_alikes
from oborona.policy.expression.fault import PatternError
from oborona.policy.expression.forms import TextForm
from oborona.policy.expression.pattern_tree import (
    CharacterSet,
    PatternAlternation,
    PatternRepeat,
    PatternSequence,
    PatternText,
    TextEdge,
    Tree,
)
from oborona.policy.expression.word_class import SPACES, Ranges, both, merged, without

MAX_MEMBERS: Final = 30_000  # of a class, taken one by one: all Chinese characters of daily use
# letters of another script in one class, from which on it is hardly meant as a word's letter
ALPHABET: Final = 10
_CAPITALS: Final = frozenset({"Lu", "Lt"})


def folded(tree: Tree, form: TextForm) -> Tree:
    """Return a pattern as it is looked for in a fact of a form.

    Raises:
        PatternError: it asks for what such a fact never holds; with what to write instead.
    """
    if form is TextForm.SENT:
        return tree
    return _fold(tree, form)


def _fold(tree: Tree, form: TextForm) -> Tree:
    match tree:
        case PatternText(text):
            return PatternText(_text(text, form))
        case CharacterSet():
            return _set(tree, form)
        case PatternSequence(items):
            done = [_fold(part, form) for part in items]
            return PatternSequence(tuple(_spaced(done) if form is TextForm.FOLDED else done))
        case PatternAlternation(options):
            return PatternAlternation(tuple(_fold(part, form) for part in options))
        case PatternRepeat(item, least, most):
            done_item = _fold(item, form)
            if form is TextForm.FOLDED and least != 1 and _is_space(done_item):
                return PatternRepeat(done_item, min(least, 1), 1)
            return PatternRepeat(done_item, least, most)
    return tree


def _text(text: str, form: TextForm) -> str:
    text = normalize("NFC", text)  # a letter and its mark are one
    whole = form.piece(text)
    for letter, turned in zip(text, form.letters(text), strict=True):
        if not turned and (
            not whole or category(letter)[0] != "M"
        ):  # a stress on a letter is no sense of its own
            raise PatternError(f"holds the invisible character U+{ord(letter):04X}, {_INVISIBLE}")
    return whole


_INVISIBLE: Final = "which normalised text never has; leave it out, or ask found('zero-width')"


def _set(letters: CharacterSet, form: TextForm) -> Tree:
    if form is TextForm.FOLDED and _is_space(letters):
        return _SPACE
    names = tuple(_name(name, form) for name in letters.names)
    explicit = both(letters.ranges, without(letters.kept))
    if sum(last - first + 1 for first, last in explicit) > MAX_MEMBERS:
        raise PatternError(
            f"holds a class of more than {MAX_MEMBERS:,} characters, in a text that is "
            f"{form.value}; write \\pL, \\w or a dot"
        )
    turned = form.letters(_members(explicit))
    single = merged([*letters.kept, *((ord(text), ord(text)) for text in turned if len(text) == 1)])
    several = sorted({text for text in turned if len(text) > 1}) if not letters.negated else []
    if not single and not names and not several and explicit:
        raise PatternError(f"holds a class of invisible characters, {_INVISIBLE}")
    letters_kept = CharacterSet(single, letters.kept, names, letters.negated)
    if not several:
        return letters_kept
    options: list[Tree] = [*map(PatternText, several)]
    return PatternAlternation((letters_kept, *options) if single or names else tuple(options))


def _members(ranges: Ranges) -> Iterator[str]:
    for first, last in ranges:
        for code in range(max(first, 1), last + 1):
            if not 0xD800 <= code <= 0xDFFF:
                yield chr(code)


def alphabet(tree: Tree, form: TextForm) -> str:
    """Return the first letters of a class that stands for an alphabet and is none in a folded fact,
    where Latin letters are in it; empty where there is none.

    Args:
        tree: as it was written.
        form: of the fact.
    """
    if form is not TextForm.FOLDED:
        return ""
    match tree:
        case CharacterSet(negated=False):
            explicit = [
                letter
                for letter in _members(_few(both(tree.ranges, without(tree.kept))))
                if letter.isalpha()
            ]
            if len(explicit) < ALPHABET or any(map(str.isascii, explicit)):
                return ""
            return "".join(explicit[:3]) if any(map(str.isascii, form.letters(explicit))) else ""
        case PatternSequence(items) | PatternAlternation(items):
            return next((found for part in items if (found := alphabet(part, form))), "")
        case PatternRepeat(item):
            return alphabet(item, form)
    return ""


def _few(ranges: Ranges) -> Ranges:
    return ranges if sum(last - first for first, last in ranges) <= MAX_MEMBERS else ()


def _name(written: str, form: TextForm) -> str:
    """Return a class that has a name, if facts of a form keep its sense."""
    name = written.lstrip("\\pP").strip("{}").lstrip("^")
    if form is TextForm.CAPITAL:
        return written
    if name in _CAPITALS:
        raise PatternError(
            f"asks for capitals ({written}), and the text is {form.value}; write \\pL, or "
            f"ask subject.raw or text.raw"
        )
    if (
        form is TextForm.FOLDED
        and name != "Latin"
        and len(name) > 2
        and _has_look_alikes(name.upper())
    ):
        raise PatternError(
            f"asks for letters of a script ({written}), and here those that look Latin "
            f"are Latin; ask subject.raw, from.name.raw or text.raw"
        )
    return written


@lru_cache(maxsize=64)
def _has_look_alikes(script: str) -> bool:
    return any(name_of(letter, "").startswith(f"{script} ") for letter in look_alikes())


def _is_space(tree: Tree) -> bool:
    """Tell whether something takes white space and nothing else."""
    match tree:
        case PatternText(text):
            return text == " "
        case CharacterSet(names=(), negated=False):
            return bool(tree.ranges) and both(tree.ranges, SPACES) == tree.ranges
        case PatternRepeat(item):
            return _is_space(item)
    return False


def _spaced(items: list[Tree]) -> list[Tree]:
    """Return a row in which white space in a row is one, and none is asked for beside the ends of
    the text.
    """
    done: list[Tree] = []
    for unit in (piece for item in items for piece in _split(item)):
        last = done[-1] if done else None
        if _is_space(unit):
            if last is not None and _is_space(last):
                least = max(_least(last), _least(unit))
                done[-1] = _SPACE if least else PatternRepeat(_SPACE, 0, 1)
                continue
            if isinstance(last, TextEdge) and last.begins:
                done.append(PatternRepeat(_SPACE, 0, 1))
                continue
        elif (
            isinstance(unit, TextEdge) and not unit.begins and last is not None and _is_space(last)
        ):
            done[-1] = PatternRepeat(_SPACE, 0, 1)
        done.append(unit)
    return done


def _split(piece: Tree) -> Iterator[Tree]:
    """Yield a text, and the space at either end of it apart."""
    if not isinstance(piece, PatternText) or piece.text == " ":
        yield piece
        return
    if piece.text.startswith(" "):
        yield _SPACE
    yield PatternText(piece.text.strip(" "))
    if piece.text.endswith(" "):
        yield _SPACE


def _least(tree: Tree) -> int:
    return tree.least if isinstance(tree, PatternRepeat) else 1


_SPACE: Final = PatternText(" ")
