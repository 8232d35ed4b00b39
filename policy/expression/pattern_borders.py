r"""`\b` and `\B` of every script, for a matcher that knows those of ASCII only and looks neither
ahead nor back.

Whether a border is there hangs on the character before and the one behind. So each piece of a
pattern is written once for each case of them: `_Case` says of what sort (a letter of a word, or
none; the end of the text is none) the last character was and what the next one must be. Cases that
can't be are left out, which nearly always leaves one: `\bcasino\b` is
`(?:\A|[^w])casino(?:\z|[^w])` with w for letters of words. The character beside the pattern is
taken along; that is no harm, as nobody asks where a match begins and ends.

Limits: a border inside of what is repeated more than `MAX_TIMES` times but not for ever, or whose
cases fill `MAX_WRITTEN` characters, is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from oborona.policy.expression.fault import PatternError
from oborona.policy.expression.pattern_tree import (
    CharacterSet,
    PatternAlternation,
    PatternRepeat,
    PatternSequence,
    PatternText,
    TextEdge,
    Tree,
    WordBorder,
    grouped,
    pattern_source,
    set_of,
    text_of,
    times,
)
from oborona.policy.expression.word_class import NO_WORD, WORD, both, without

MAX_TIMES: Final = 10
MAX_WRITTEN: Final = 30_000  # characters


class _Case(NamedTuple):
    """What stands on either side of a place: a letter of a word, or none."""

    before: bool
    behind: bool


_CASES: Final = tuple(_Case(before, behind) for before in (False, True) for behind in (False, True))
_Cases = Mapping[tuple[_Case, _Case], str]
"""The patterns of one piece, by the cases before and behind it; what is missing can't be."""

_NOTHING: Final[_Cases] = {(case, case): "" for case in _CASES}
_W: Final = set_of(CharacterSet(WORD))
_NO_W: Final = set_of(CharacterSet(NO_WORD))
_BEFORE: Final = {False: rf"(?:\A|{_NO_W})", True: _W}
_BEHIND: Final = {False: rf"(?:\z|{_NO_W})", True: _W}


def without_borders(tree: Tree) -> str:
    r"""Return a pattern that is found in the same texts and holds no `\b` and `\B`.

    Raises:
        PatternError: it is never found, or too much of it hangs on borders.
    """
    if not _bordered(tree):
        return pattern_source(tree)
    cases = _cases(tree)
    ends: dict[bool, set[str]] = {}
    for before in (False, True):
        by_next = {
            behind: {
                code
                for (start, end), code in cases.items()
                if start.before is before and end.behind is behind
            }
            for behind in (False, True)
        }
        anyway = by_next[False] & by_next[True]
        ends[before] = anyway | {
            _wrapped(code) + _BEHIND[behind]
            for behind, codes in by_next.items()
            for code in codes - anyway
        }
    anyway = ends[False] & ends[True]
    options = anyway | {
        _BEFORE[before] + _wrapped(code)
        for before, codes in ends.items()
        for code in codes - anyway
    }
    if not options:
        raise PatternError(
            r"is never found: \b stands between two letters of a word, or beside none"
        )
    return _any(options)


def _bordered(tree: Tree) -> bool:
    match tree:
        case WordBorder():
            return True
        case PatternSequence(items) | PatternAlternation(items):
            return any(map(_bordered, items))
        case PatternRepeat(item):
            return _bordered(item)
    return False


def _cases(tree: Tree) -> _Cases:
    match tree:
        case PatternText(text, any_case):
            first, last = _of_word(text[0]), _of_word(text[-1])
            code = f"(?i:{text_of(text)})" if any_case else text_of(text)
            return _between([(first, last, code)])
        case CharacterSet():
            return _between((sort, sort, set_of(part)) for sort, part in _parts(tree))
        case TextEdge(code, begins):
            return {
                (case, case): code
                for case in _CASES
                if not (case.before if begins else case.behind)
            }
        case WordBorder(there):
            return {
                (case, case): "" for case in _CASES if (case.before is not case.behind) is there
            }
        case PatternSequence(items):
            done = _NOTHING
            for member in items:
                done = _after(done, _cases(member))
            return done
        case PatternAlternation(options):
            return _united(map(_cases, options))
        case PatternRepeat(item, least, most):
            return _repeated(item, least, most)


def _between(parts: Iterable[tuple[bool, bool, str]]) -> _Cases:
    """Return the cases of what has a character: whatever stands before the first, whatever behind
    the last.
    """
    cases_texts: dict[tuple[_Case, _Case], list[str]] = {}
    for first, last, code in parts:
        for before in (False, True):
            for behind in (False, True):
                cases_texts.setdefault((_Case(before, first), _Case(last, behind)), []).append(code)
    return {key: _any(codes) for key, codes in cases_texts.items()}


def _parts(letters: CharacterSet) -> Iterable[tuple[bool, CharacterSet]]:
    """Yield what of a class is a letter of a word, and what is none."""
    if letters.names and (letters.negated or letters.ranges):
        raise PatternError(
            r"has \b, and a class of several with \p in it; write (?:...|...), or what "
            r"may stand beside the word"
        )
    if letters.names:
        inverse = letters.names[0].startswith("\\P") or letters.names[0].startswith("\\p{^")
        name = letters.names[0].lstrip("\\pP").strip("{}^")
        if inverse:
            raise PatternError(rf"has \b beside {letters.names[0]}; write what may stand there")
        yield name[0] not in "PSZC" or len(name) > 2, letters
        return
    ranges = letters.all
    for sort, of in ((False, NO_WORD), (True, WORD)):
        if part := both(ranges, of):
            yield (
                sort,
                CharacterSet(part, any_case=letters.any_case) if part != without(()) else letters,
            )


def _of_word(letter: str) -> bool:
    return any(first <= ord(letter) <= last for first, last in WORD)


def _repeated(item: Tree, least: int, most: int | None) -> _Cases:
    cases = _cases(item)
    if not _bordered(item):
        return _run(item, cases, least, most)
    if least > MAX_TIMES or (most or 0) > MAX_TIMES:
        raise PatternError(
            rf"has \b in what comes up to {most or least} times; at most {MAX_TIMES}, or * and +"
        )
    done = _NOTHING
    for _ in range(least):
        done = _after(done, cases)
    if most is None:
        return _after(done, _for_ever(cases))
    optional = _united([_NOTHING, cases])
    for _ in range(most - least):
        done = _after(done, optional)
    return done


def _run(item: Tree, cases: _Cases, least: int, most: int | None) -> _Cases:
    """Return the cases of something without borders so many times: it hangs on its first and its
    last time only.
    """
    filled = {key: code for key, code in cases.items() if code}
    if len(filled) < len(cases):
        least = 0  # each time may be nothing
    if most == 0:
        return _NOTHING
    forms: list[_Cases] = [_NOTHING] if least == 0 else []
    if least <= 1:
        forms.append(filled)
    if most is None or most >= 2:
        between = grouped(item) + times(max(least - 2, 0), None if most is None else most - 2)
        starts = {
            (start, _Case(False, False)): code for (start, end), code in _starts(filled).items()
        }
        forms.append(
            {
                (start, end): _row(_wrapped(code), between, _wrapped(last))
                for (start, _), code in starts.items()
                for end, last in _lasts(filled).items()
            }
        )
    return _united(forms)


def _starts(filled: _Cases) -> Mapping[tuple[_Case, None], str]:
    texts: dict[tuple[_Case, None], set[str]] = {}
    for (start, _), code in filled.items():
        texts.setdefault((start, None), set()).add(code)
    return {key: _any(codes) for key, codes in texts.items()}


def _lasts(filled: _Cases) -> Mapping[_Case, str]:
    texts: dict[_Case, set[str]] = {}
    for (_, end), code in filled.items():
        texts.setdefault(end, set()).add(code)
    return {key: _any(codes) for key, codes in texts.items()}


def _for_ever(cases: _Cases) -> _Cases:
    """Return the cases of something any number of times.

    Source: Kleene 1956, one place after the other.
    """
    done = dict(cases)
    for by in _CASES:
        around = done.get((by, by), "")
        loop = f"(?:{around})*" if around else ""
        for start in _CASES:
            for end in _CASES:
                if (start, by) in done and (by, end) in done:
                    way = _row(_wrapped(done[start, by]), loop, _wrapped(done[by, end]))
                    done[start, end] = _any(
                        {way, *([done[start, end]] if (start, end) in done else [])}
                    )
    return _united([_NOTHING, done])


def _after(first: _Cases, second: _Cases) -> _Cases:
    """Return the cases of one thing and then another.

    What is the same for several is written once.
    """
    texts: dict[tuple[_Case, _Case], set[str]] = {}
    for start in _CASES:
        middles_of: dict[str, list[_Case]] = {}
        for (begin, middle), code in first.items():
            if begin == start:
                middles_of.setdefault(code, []).append(middle)
        for end in _CASES:
            for code, middles in middles_of.items():
                rest = {second[middle, end] for middle in middles if (middle, end) in second}
                if rest:
                    texts.setdefault((start, end), set()).add(
                        _row(_wrapped(code), _wrapped(_any(rest)))
                    )
    return {key: _any(codes) for key, codes in texts.items()}


def _united(some: Iterable[_Cases]) -> _Cases:
    texts: dict[tuple[_Case, _Case], set[str]] = {}
    for cases in some:
        for key, code in cases.items():
            texts.setdefault(key, set()).add(code)
    return {key: _any(codes) for key, codes in texts.items()}


def _any(codes: Iterable[str]) -> str:
    return (
        _small("|".join(sorted(dict.fromkeys(codes), key=lambda code: (not code, code))))
        if codes
        else ""
    )


def _row(*codes: str) -> str:
    return _small("".join(codes))


def _wrapped(code: str) -> str:
    return f"(?:{code})" if "|" in code else code


def _small(code: str) -> str:
    if len(code) > MAX_WRITTEN:
        raise PatternError(
            r"has too many cases for its \b; write what may stand beside the word: (?:^|[^0-9])"
        )
    return code
