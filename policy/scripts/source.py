"""The text of a script, looked at before it runs: which facts it names, by the names that they have
in expressions.

    facts.text.words < 5        becomes        facts["text.words"] < 5

Lua has one value for `facts.text`, and a text has no words; so a dotted name is put together here,
the longest that is a fact, and what is none is an error with its column.  `facts` stands nowhere
but before a name or an index, so that no other way leads to a fact. Only names are read here and
nothing is trusted: what a script may do is held by its runtime (`sandbox.lua`), not by this.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from oborona.errors import PolicyError
from oborona.policy.expression.forms import TextForm
from oborona.policy.expression.schema import (
    DERIVED_METRICS,
    METRICS,
    WINDOWS,
    Fact,
    FactSchema,
    PieceKind,
)
from oborona.toml import did_you_mean

_COMPARING: Final = frozenset({"contains", "startswith", "endswith", "matches"})
MAX_BYTES: Final = 128 << 10  # of a script: three thousand lines
WORD: Final = "facts"

_TOKEN: Final = re.compile(
    r"""(?P<space>\s+)
      | (?P<comment>--(?!\[=*\[)[^\n]*)
      | (?P<long>(?:--)?\[(?P<level>=*)\[)
      | (?P<text>"(?:\\z\s*|\\\r\n|\\.|[^"\\\n])*"|'(?:\\z\s*|\\\r\n|\\.|[^'\\\n])*')
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<number>\.?[0-9](?:[eEpP][+-]|[0-9A-Za-z_.])*)
      | (?P<sign>\.\.\.?|[=~]=|.)""",
    re.VERBOSE | re.DOTALL,
)


class LuaToken(NamedTuple):
    """A token of Lua."""

    kind: str  # text, name, number, sign
    text: str
    start: int
    end: int


class NamedFact(NamedTuple):
    """A fact that a script names."""

    name: str
    line: int  # 1-based
    column: int


class ScriptSource(msgspec.Struct, frozen=True, kw_only=True):
    """A script that may be compiled."""

    file: str
    text: str  # as Lua gets it, line by line the file's
    named: tuple[NamedFact, ...]  # facts
    asked: tuple[NamedFact, ...]  # findings that are asked for by name
    meant: str  # what stands there beside comments and white space; empty: nothing
    open: tuple[int, ...]  # lines where a fact's name is worked out as it runs: it may be any


def source(raw: bytes, file: str, schema: FactSchema) -> ScriptSource:
    """Return a script with its facts resolved.

    The findings it asks for may be those of any script, and are checked later.

    Args:
        raw: the file.
        file: as errors name it.
        schema: the facts that there are.

    Raises:
        PolicyError: half-written, not UTF-8, too large, a text that does not end, a fact that does
            not exist; never anything else.
    """
    return _LuaReader(_text(raw, file), file, schema).read()


def _text(raw: bytes, file: str) -> str:
    if len(raw) > MAX_BYTES:
        raise PolicyError(f"is larger than {MAX_BYTES // 1024} KiB", file=file)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as fault:
        line = raw.count(b"\n", 0, fault.start) + 1
        column = fault.start - (raw.rfind(b"\n", 0, fault.start) + 1) + 1
        raise PolicyError(
            f"is not UTF-8: byte 0x{raw[fault.start]:02x}", file=file, line=line, column=column
        ) from fault
    if text.startswith("\ufeff"):
        raise PolicyError(
            "begins with a byte order mark; save it as UTF-8 without one", file=file, line=1
        )
    if not text.strip():
        raise PolicyError(
            "is empty: half-written? A file may be switched off by a comment", file=file, line=1
        )
    if not text.endswith("\n"):
        raise PolicyError(
            "its last line does not end: half-written?", file=file, line=text.count("\n") + 1
        )
    return text


class _LuaReader:
    """Reads one script from its first token to the last."""

    def __init__(self, text: str, file: str, schema: FactSchema) -> None:
        self._text = text
        self._file = file
        self._schema = schema
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self._tokens = list(self._scan())
        self._named: list[NamedFact] = []
        self._asked: list[NamedFact] = []
        self._open: list[int] = []

    def read(self) -> ScriptSource:
        """Return the script; see `source`."""
        done, at = [], 0
        pairs = zip(self._tokens, self._tokens[1:], strict=False)
        own = {name.text for word, name in pairs if word.text in ("local", "function")}
        for index, token in enumerate(self._tokens):
            if token.kind != "name" or self._before(index) in (".", ":"):
                continue
            if token.text == WORD:
                end, code = self._fact(index)
                done += [self._text[at : token.end], code]
                at = end
            elif token.text in ("count", "found"):
                self._called(index)
            elif (
                token.text in _COMPARING
                and token.text not in own
                and (form := self._form_of_first(index))
            ):
                done += [self._text[at : token.end], f"_{form}"]
                at = token.end
        done.append(self._text[at:])
        return ScriptSource(
            file=self._file,
            text="".join(done),
            named=tuple(self._named),
            asked=tuple(self._asked),
            open=tuple(self._open),
            meant="\0".join(token.text for token in self._tokens),
        )

    def _scan(self) -> Iterator[LuaToken]:
        at = 0
        while at < len(self._text):
            match = _TOKEN.match(self._text, at)
            if (
                match is None or match.lastgroup is None
            ):  # unreachable: the last alternative takes any character
                raise self._error("is no Lua", at)
            kind, end = match.lastgroup, match.end()
            if match["long"] is not None:
                close = "]" + match["level"] + "]"
                stop = self._text.find(close, end)
                if stop < 0:
                    raise self._error(f"{match['long']} has no {close}", at)
                kind, end = "comment" if match["long"][0] == "-" else "text", stop + len(close)
            elif match["sign"] in ('"', "'"):
                raise self._error("a text does not end in its line", at)
            if kind not in ("space", "comment"):
                yield LuaToken(kind, self._text[at:end], at, end)
            at = end

    def _fact(self, index: int) -> tuple[int, str]:
        """Return where the fact's name ends, and what Lua gets after `facts`."""
        parts, ends, at = [], [], index + 1
        while (
            self._is(at, ".") and at + 1 < len(self._tokens) and self._tokens[at + 1].kind == "name"
        ):
            parts.append(self._tokens[at + 1].text)
            ends.append(self._tokens[at + 1].end)
            at += 2
        start = self._tokens[index].start
        if not parts:
            return self._indexed(index)
        facts = self._schema.by_name
        length = next((n for n in range(len(parts), 0, -1) if ".".join(parts[:n]) in facts), 0)
        fact = facts.get(".".join(parts[:length]))
        if fact is None or (length < len(parts) and fact.kind is not PieceKind.SET):
            raise self._unknown(".".join(parts), start)
        self._add(fact.name, start)
        if length == len(parts):
            self._compared(index, fact, at)
        end = ends[length - 1]
        lines = self._text.count("\n", start, end)
        return end, f'["{fact.name}"]' + "\n" * lines

    def _form_of_first(self, index: int) -> str:
        """Return the form of the fact that is the first argument of a call, empty where that is
        something else or as it was sent.
        """
        if not (self._is(index + 1, "(") and self._is(index + 2, WORD)):
            return ""
        at = index + 3
        while at < len(self._tokens) and self._tokens[at].text not in (",", ")", "("):
            at += 1
        name = "".join(token.text for token in self._tokens[index + 3 : at]).removeprefix(".")
        if name[:2] in ('["', "['"):
            name = name[2:-2]
        fact = self._schema.by_name.get(name)
        if fact is None or fact.form is TextForm.SENT or not self._is(at, ","):
            return ""
        return fact.form.name.lower()

    def _compared(self, index: int, fact: Fact, after: int) -> None:
        """Check `facts.subject == "text"` and its reverse: a text of another form is never
        there.
        """
        for sign, neighbour in ((after, after + 1), (index - 1, index - 2)):
            if not (0 <= neighbour < len(self._tokens) and self._tokens[sign].text in ("==", "~=")):
                continue
            token = self._tokens[neighbour]
            text = _plain(token.text) if token.kind == "text" else None
            if text is not None and (turned := fact.form.whole(text)) != text:
                raise self._error(
                    (
                        f'{fact.name} is {fact.form.value}, and never "{_short(text)}"; write '
                        f'"{_short(turned)}"'
                    ),
                    token.start,
                )

    def _indexed(self, index: int) -> tuple[int, str]:
        """Check `facts["text.words"]`; an index that is worked out is checked when it is used."""
        token = self._tokens[index]
        if not self._is(index + 1, "["):
            raise self._error(
                'facts stands before a name: facts.text.words, or facts["text.words"]', token.start
            )
        name = None
        if self._is(index + 3, "]") and self._tokens[index + 2].kind == "text":
            name = _plain(self._tokens[index + 2].text)
        if name is None:
            self._open.append(self._place(token.start)[0])
        elif name not in self._schema.by_name:
            raise self._unknown(name, self._tokens[index + 2].start)
        else:
            self._add(name, token.start)
        return token.end, ""

    def _called(self, index: int) -> None:
        """Check `found("name")` and `count("From", "day", "seen")` where they are given plain
        texts.
        """
        at, arguments = index + 1, []
        if not self._is(at, "("):
            return
        while at + 2 < len(self._tokens) and self._tokens[at + 1].kind == "text":
            arguments.append(self._tokens[at + 1])
            at += 2
            if not self._is(at, ","):
                break
        names = [_plain(token.text) for token in arguments]
        if not self._is(at, ")") or not names or None in names:
            return
        known_names, start = [name for name in names if name is not None], self._tokens[index].start
        if self._tokens[index].text == "found" and len(known_names) == 1:
            self._asked.append(NamedFact(known_names[0], *self._place(start)))
        elif self._tokens[index].text == "count" and (
            problem := problem_of_count(self._schema, known_names)
        ):
            raise self._error(problem, start)

    def _add(self, name: str, at: int) -> None:
        self._named.append(NamedFact(name, *self._place(at)))

    def _is(self, index: int, sign: str) -> bool:
        return index < len(self._tokens) and self._tokens[index].text == sign

    def _before(self, index: int) -> str:
        return self._tokens[index - 1].text if index else ""

    def _place(self, at: int) -> tuple[int, int]:
        line = bisect_right(self._lines, at)
        return line, at - self._lines[line - 1] + 1

    def _error(self, problem: str, at: int) -> PolicyError:
        line, column = self._place(at)
        return PolicyError(problem, file=self._file, line=line, column=column)

    def _unknown(self, name: str, at: int) -> PolicyError:
        return self._error(unknown_fact(self._schema, name), at)


def unknown_fact(schema: FactSchema, name: str) -> str:
    """Return the words about a name that is no fact."""
    return f"unknown fact {_short(name)}{did_you_mean(name, schema.by_name)}"


def problem_of_found(schema: FactSchema, names: list[str]) -> str:
    """Return what is wrong with the arguments of `found`, or nothing."""
    if len(names) != 1:
        return 'found() takes the name of one finding: found("hidden-text")'
    if schema.findings is not None and names[0] not in schema.findings:
        return f'unknown finding "{_short(names[0])}"{did_you_mean(names[0], schema.findings)}'
    return ""


def problem_of_count(schema: FactSchema, names: list[str]) -> str:
    """Return what is wrong with the arguments of `count`, or nothing."""
    if len(names) != 3:
        return 'count() takes a shingle type, a window and a metric: count("From", "day", "seen")'
    kind, window, metric = names
    if kind not in schema.by_type:
        return f"unknown shingle type {_short(kind)}{did_you_mean(kind, schema.by_type)}"
    if window not in WINDOWS:
        return f"unknown window {_short(window)}{did_you_mean(window, WINDOWS)}"
    if metric not in METRICS and metric not in DERIVED_METRICS:
        return (
            f"unknown metric {_short(metric)}{did_you_mean(metric, [*METRICS, *DERIVED_METRICS])}"
        )
    return ""


def _plain(text: str) -> str | None:
    """Return what a text in quotes holds; None for one with escapes, or a long one."""
    inside = text[1:-1]
    return inside if text[0] in "\"'" and "\\" not in inside else None


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:60] + "..."
