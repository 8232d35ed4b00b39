"""What scripts ask of a message: facts, counts, findings and patterns, as values that Lua takes.

Texts are UTF-8, with a question mark where a fact holds half a character, as `matches` of
expressions reads them; a set is its members in order, each with a NUL behind it; none is nil.  A
text and a set of one message are copied when a script asks for them, once, and cut at a bound.
Nothing here raises: Lua would have to hand it on through frames of C.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from oborona.policy.expression.fault import PatternError
from oborona.policy.expression.forms import TextForm
from oborona.policy.expression.network_lists import DomainList, NetworkList
from oborona.policy.expression.patterns import MAX_MADE, compile_pattern, pattern_for
from oborona.policy.expression.schema import (
    DERIVED_METRICS,
    METRICS,
    WINDOWS,
    FactSchema,
    PieceKind,
)
from oborona.policy.scripts.source import problem_of_count, problem_of_found, unknown_fact
from oborona.toml import did_you_mean
from oborona.types import Stage

MOST_OCTETS: Final = 262_144  # of one text or set: 65,536 characters
MOST_MEMBERS: Final = 5_000  # of a set
MOST_LISTED: Final = 16_384  # octets of one list of networks or domains: some thousand
MOST_LISTS: Final = 100  # of networks and domains, kept read
# kept compiled; a script that makes patterns of what it reads pays for them
MOST_PATTERNS: Final = 500
_WHOLE: Final = 2**63 - 1  # a whole number of Lua
_FAILED: Final = 100  # characters of what went wrong

Answer = Any  # a value, or a pair of None and what is wrong


class ScriptAnswers:
    """Answers for one message after another.

    Args:
        schema: what may be asked.

    Attributes:
        schema: the same.
        facts: of the message; None: those of a message of which nothing is known.
        kinds: by name, for Lua.
        orders: the stage from which each fact is known, by name.
    """

    def __init__(self, schema: FactSchema) -> None:
        self.facts: Any = None
        self.schema = schema
        self.kinds = {name.encode(): _KINDS[fact.kind] for name, fact in schema.by_name.items()}
        self.orders = {name.encode(): fact.stage.order for name, fact in schema.by_name.items()}
        self._attributes = {name.encode(): fact.attribute for name, fact in schema.by_name.items()}
        self._empty = {
            name.encode(): None if fact.optional else _EMPTY[fact.kind]
            for name, fact in schema.by_name.items()
        }
        self._patterns: dict[bytes, Any] = {}
        self._turned: dict[tuple[bytes, bytes, bytes], bytes] = {}
        self._lists: dict[tuple[bytes, bytes], NetworkList | DomainList] = {}
        self._counts: dict[tuple[bytes, bytes, bytes], tuple[int, str, tuple[int, ...]]] = {}

    def fetch(self, name: bytes) -> Answer:
        """Return a fact by its name, which is one of `kinds`."""
        if self.facts is None:
            return self._empty[name]
        try:
            return _lua(getattr(self.facts, self._attributes[name]))
        except Exception as fault:  # noqa: BLE001 - a store that answers lazily may fail; the script is told
            return None, _describe_fault("the fact cannot be read", fault)

    def count(self, kind: bytes, window: bytes, metric: bytes, order: int) -> Answer:
        """Return one count, or none where its type is not known at a stage."""
        query = self._counts.get((kind, window, metric))
        if query is None:
            names = [_text(kind), _text(window), _text(metric)]
            problem = problem_of_count(self.schema, names)
            if problem:
                return None, problem.encode()
            query = self._counts[kind, window, metric] = _parse_query(self.schema, *names)
        since, method, arguments = query
        if since > order:
            return None
        if self.facts is None:
            return 0
        try:
            return _lua(getattr(self.facts, method)(*arguments))
        except Exception as fault:  # noqa: BLE001 - as in fetch
            return None, _describe_fault("the count cannot be read", fault)

    def found(self, name: bytes, order: int) -> Answer:
        """Tell whether there is a finding; false where it is not known at a stage."""
        word = _text(name)
        since = self._finding(word)
        if since is None:
            return None, problem_of_found(self.schema, [word]).encode()
        return since.order <= order and self.facts is not None and bool(self.facts.found(word))

    def _finding(self, name: str) -> Stage | None:
        return Stage.CONTENT if self.schema.findings is None else self.schema.findings.get(name)

    def matches(self, text: bytes, pattern: bytes) -> Answer:
        """Tell whether a pattern is found in a text."""
        compiled = self._pattern(pattern)
        if isinstance(compiled, tuple):
            return compiled
        return compiled.search(text) is not None

    def captures(self, text: bytes, pattern: bytes, most: int) -> Answer:
        """Return what the groups of a pattern hold, or all of it where it has none.

        Args:
            text: looked through.
            pattern: of RE2.
            most: 1: all groups of the first match; more: the first group of so many matches.
        """
        compiled = self._pattern(pattern)
        if isinstance(compiled, tuple):
            return compiled
        if most == 1:
            first = compiled.search(text)
            groups = [] if first is None else list(first.groups()) or [first.group()]
        else:
            group = min(1, compiled.groups)
            groups = [
                match.group(group)
                for match, _ in zip(compiled.finditer(text), range(most), strict=False)
            ]
        return _packed(group or b"" for group in groups)

    def turned(self, form: bytes, name: bytes, piece: bytes) -> Answer:
        """Return a text of a script in the form of the fact that it is compared with.

        Args:
            form: small, capital or folded.
            name: of the function that compares.
            piece: the text, or the pattern of matches().
        """
        result = self._turned.get((form, name, piece))
        if result is None:
            try:
                result = _turn(TextForm[form.decode().upper()], _text(name), _text(piece)).encode(
                    "utf-8", "replace"
                )
            except PatternError as fault:
                return None, f"pattern: {fault}".encode("utf-8", "replace")
            if len(self._turned) >= MOST_PATTERNS:
                self._turned.clear()
            self._turned[form, name, piece] = result
        return result

    def within(self, name: bytes, text: bytes, listed: bytes) -> Answer:
        """Tell whether a text is in one of some networks, or one of some domains or below it.

        Args:
            name: of the function: in_networks or in_domains.
            text: looked for.
            listed: networks or domains, with spaces between.
        """
        members = self._lists.get((name, listed))
        if members is None:
            if len(listed) > MOST_LISTED:
                return None, f"{_text(name)}: the list is longer than {MOST_LISTED} bytes".encode()
            try:
                members = _LISTS[name](_text(listed).split())
            except ValueError as fault:
                return None, f"{_text(name)}: {fault}".encode("utf-8", "replace")
            if len(self._lists) >= MOST_LISTS:
                self._lists.clear()
            self._lists[name, listed] = members
        return members.has(_text(text))

    def complain(self, what: bytes, name: bytes, candidates: bytes = b"") -> bytes:
        """Return the words about a name that is not known, or arguments that are wrong.

        Args:
            what: is wrong: fact, count, found, name.
            name: that is not known.
            candidates: those that there are, with spaces between.
        """
        word = _text(name)
        if what == b"fact":
            return unknown_fact(self.schema, word).encode("utf-8", "replace")
        if what == b"count":
            return problem_of_count(self.schema, []).encode()
        if what == b"found":
            return problem_of_found(self.schema, []).encode()
        return f"unknown name {word}{did_you_mean(word, _text(candidates).split())}".encode(
            "utf-8", "replace"
        )

    def _pattern(self, pattern: bytes) -> Any:
        compiled = self._patterns.get(pattern)
        if compiled is None:
            try:
                compiled = compile_pattern(_text(pattern), captures=True, most=MAX_MADE)
            except PatternError as fault:
                return None, f"pattern: {fault}".encode("utf-8", "replace")
            if len(self._patterns) >= MOST_PATTERNS:
                self._patterns.clear()
            self._patterns[pattern] = compiled
        return compiled


def _turn(form: TextForm, name: str, piece: str) -> str:
    match name:
        case "matches":
            return pattern_for(piece, form).text
        case "fold":
            return form.whole(piece)
        case "startswith":
            return form.piece(piece).lstrip(" ")
        case "endswith":
            return form.piece(piece).rstrip(" ")
    return form.piece(piece)


def _parse_query(
    schema: FactSchema, kind: str, window: str, metric: str
) -> tuple[int, str, tuple[int, ...]]:
    """Return from which stage a count is known, the method of the facts that gives it, and what
    that takes.
    """
    counted, at = schema.by_type[kind], int(WINDOWS[window])
    if metric in DERIVED_METRICS:
        return counted.stage.order, metric, (counted.number, at)
    return counted.stage.order, "count", (counted.number, at, int(METRICS[metric]))


def _lua(value: Any) -> Answer:
    """Return a fact's value as Lua takes it."""
    match value:
        case None | bool() | float():
            return value
        case int():
            return max(-_WHOLE, min(value, _WHOLE))
        case str():
            return value[:MOST_OCTETS].encode("utf-8", "replace")[:MOST_OCTETS]
    return _packed(member.encode("utf-8", "replace") for member in sorted(value)[:MOST_MEMBERS])


def _packed(members: Iterable[bytes]) -> bytes:
    packed, left = [], MOST_OCTETS
    for member in members:
        left -= len(member) + 1
        if left < 0:
            break
        packed.append(member.replace(b"\0", b" ") + b"\0")
    return b"".join(packed)


def _text(octets: bytes) -> str:
    return octets.decode("utf-8", "replace")


def _describe_fault(task: str, fault: Exception) -> bytes:
    try:
        words = str(fault)[:_FAILED]
    except Exception:  # noqa: BLE001 - another's exception may fail even at this
        words = ""
    return f"{task}: {type(fault).__name__}: {words}".encode("utf-8", "replace")


_LISTS: Final[dict[bytes, type[NetworkList | DomainList]]] = {
    b"in_networks": NetworkList,
    b"in_domains": DomainList,
}
_KINDS: Final[dict[PieceKind, bytes]] = {
    PieceKind.NUMBER: b"number",
    PieceKind.CONDITION: b"condition",
    PieceKind.TEXT: b"text",
    PieceKind.SET: b"set",
}
_EMPTY: Final[dict[PieceKind, Answer]] = {
    PieceKind.NUMBER: 0,
    PieceKind.CONDITION: False,
    PieceKind.TEXT: b"",
    PieceKind.SET: b"",
}
