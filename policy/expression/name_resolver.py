"""Names in expressions: facts, counts, conditions.

Each becomes a local variable that is read once for all rules.

The facts that one expression names decide from which stage on it can run.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from oborona.policy.expression.fault import ExpressionFault
from oborona.policy.expression.loads import RuleLoads
from oborona.policy.expression.references import RuleReferences
from oborona.policy.expression.schema import (
    ACROSS,
    COUNT_READERS,
    DERIVED_METRICS,
    KEYWORD_FACT,
    METRICS,
    WINDOWS,
    CountedType,
    FactFamily,
    FactSchema,
    PieceKind,
)
from oborona.policy.expression.syntax import STAND_IN, ExpressionSource
from oborona.policy.expression.typed_piece import TypedPiece
from oborona.toml import did_you_mean
from oborona.types import Metric, RuleWindow, Stage

MEMBER: Final = "it"  # in any_of() and its like: one member of the set
_WORDS: Final = {"true": True, "false": False, "True": True, "False": False}


class NameResolver:
    """The names of one rule's expressions.

    Args:
        schema: what may be named.
        loads: collects the facts of all rules of a set.
        others: the rest of the set.

    Attributes:
        stage: the latest stage of all facts named so far.
        named: facts, as rules write them.
    """

    def __init__(self, schema: FactSchema, loads: RuleLoads, others: RuleReferences) -> None:
        self.schema = schema
        self.stage = Stage.CONNECT
        self.named: set[str] = set()
        self.member: TypedPiece | None = None  # what `it` stands for
        self._loads = loads
        self._others = others

    def piece(
        self,
        node: ast.Name | ast.Attribute | ast.Subscript,
        source: ExpressionSource,
        functions: Sequence[str],
    ) -> TypedPiece:
        """Check `true`, `text.words`, `NEW_SENDER`, or `count[From].day.seen`.

        Raises:
            Fault: there is nothing of this name.
        """
        index = source.index(node)
        names: list[str] = []
        at: ast.expr = node
        while isinstance(at, ast.Attribute):
            as_written(at, at.attr, source.end(at) - len(at.attr), source)
            names.insert(0, at.attr)
            at = at.value
        if isinstance(at, ast.Name):
            name = KEYWORD_FACT if at.id == STAND_IN else at.id
            as_written(at, name, source.index(at), source)
            return self._plain([name, *names], index, functions)
        if (
            isinstance(at, ast.Subscript)
            and isinstance(at.value, ast.Name)
            and at.value.id in COUNT_READERS
        ):
            return self._count(self.counted(at, source), names, index)
        if isinstance(at, ast.Subscript) and not names and self.schema.families:
            return self._member(at, source)
        raise ExpressionFault(
            "only facts have attributes, and only count has an index: count[From].day.seen", index
        )

    def _member(self, node: ast.Subscript, source: ExpressionSource) -> TypedPiece:
        """Check `person.day[click]`."""
        index = source.index(node)
        name = source.text[index : source.end(node.value)]
        family = self.schema.by_family.get(name)
        if family is None:
            guess = did_you_mean(name, self.schema.by_family)
            raise ExpressionFault(f"{short(name)} has no index{guess}", index)
        of, at = node.slice, source.index(node.slice)
        if isinstance(of, ast.Name):
            as_written(of, of.id, at, source)
            member = of.id
        elif isinstance(of, ast.Constant) and isinstance(of.value, str):
            member = of.value
        else:
            raise ExpressionFault(f"{name} takes a name: {family_example(family)}", at)
        if member not in family.members:
            guess = did_you_mean(member, family.members)
            raise ExpressionFault(f"unknown {name}[{short(member)}]{guess}", at)
        return self.load(
            f"f.{family.attribute}[{member!a}]",
            f"{name}[{member}]",
            family.stage,
            family.kind,
            index,
            optional=family.optional,
        )

    def counted(self, node: ast.expr, source: ExpressionSource) -> CountedType:
        """Check `count[From]`.

        Raises:
            Fault: it is something else, or there is no such type.
        """
        index = source.index(node)
        if not (
            isinstance(node, ast.Subscript)
            and isinstance(node.value, ast.Name)
            and node.value.id in COUNT_READERS
        ):
            raise ExpressionFault("takes a shingle type: count[From]", index)
        kind = node.slice
        if not isinstance(kind, ast.Name):
            raise ExpressionFault(
                "count takes the name of a shingle type, without quotes: count[From]", index
            )
        as_written(kind, kind.id, source.index(kind), source)
        counted = self.schema.by_type.get(kind.id)
        if counted is None:
            guess = did_you_mean(kind.id, self.schema.by_type)
            raise ExpressionFault(
                f"unknown shingle type {short(kind.id)}{guess}", source.index(kind)
            )
        family = node.value.id
        if family in ACROSS:
            self._loads.across.add((ACROSS[family], counted.number))
        return counted if family == "count" else replace(counted, family=family)

    def total(
        self, counted: CountedType, window: RuleWindow, metric: Metric, index: int
    ) -> TypedPiece:
        """Return one count of one type."""
        label = f"{counted.label}.{window.name.lower()}.{metric.name.lower()}"
        code = (
            f"{COUNT_READERS[counted.family]}.count({counted.number}, {int(window)}, {int(metric)})"
        )
        return self.load(code, label, counted.stage, PieceKind.NUMBER, index, optional=True)

    def robotic(self, counted: CountedType, index: int) -> TypedPiece:
        """Return how regular the flow of one type is.

        Raises:
            Fault: of the other direction no time-lines are read.
        """
        if counted.family != "count":
            raise ExpressionFault("robotic() takes count[TYPE], the message's own direction", index)
        self._loads.timelines.add(counted.number)
        label = f"robotic(count[{counted.name}])"
        return self.load(
            f"f.robotic({counted.number})",
            label,
            counted.stage,
            PieceKind.NUMBER,
            index,
            optional=True,
        )

    def fact(self, name: str, index: int) -> TypedPiece | None:
        """Return a fact by its dotted name, None where there is none."""
        fact = self.schema.by_name.get(name)
        if fact is None:
            return None
        words = fact.words
        if name == "findings" and self.schema.findings is not None:
            words = tuple(self.schema.findings)
        loaded = self.load(
            f"f.{fact.attribute}", name, fact.stage, fact.kind, index, optional=fact.optional
        )
        return replace(loaded, words=words, form=fact.form, longest=fact.longest)

    def fired(self, name: str, index: int) -> TypedPiece:
        """Return whether something of this name was hit.

        Raises:
            Fault: nothing is called so, or it hangs on itself.
        """
        try:
            stage = self._others.fired(name)
        except ExpressionFault as fault:
            raise ExpressionFault(fault.problem, index) from None
        if stage is None:
            guess = did_you_mean(name, sorted(self._others.names()))
            raise ExpressionFault(f"nothing that can be hit is called {short(name)}{guess}", index)
        return self._referred(stage.code, stage.stage, stage.named, index)

    def load(
        self,
        code: str,
        label: str,
        stage: Stage,
        kind: PieceKind,
        index: int,
        *,
        optional: bool = False,
    ) -> TypedPiece:
        """Return what generated code reads once from the facts object.

        Args:
            code: that reads it, from `f`.
            label: as rules write it.
            stage: from which it is known.
            kind: of it.
            index: where it stands in the text.
            optional: it may be none.
        """
        load = self._loads.fact(code, label, stage)
        self.named.add(label)
        self._later(stage)
        self._loads.locals[load.local] = None
        return TypedPiece(code=load.local, kind=kind, index=index, optional=optional)

    def _referred(self, code: str, stage: Stage, named: frozenset[str], index: int) -> TypedPiece:
        self.named |= named
        self._later(stage)
        if code.isidentifier():
            self._loads.locals[code] = None
        return TypedPiece(code=code, kind=PieceKind.CONDITION, index=index)

    def _list(self, name: str, index: int) -> TypedPiece:
        """Return a list of the policy, as if its texts stood here."""
        texts = self.schema.lists[name]
        code = "{" + ", ".join(map(ascii, texts)) + "}" if texts else "()"
        return TypedPiece(code=code, kind=PieceKind.LIST, index=index, literal=texts, constant=True)

    def _later(self, stage: Stage) -> None:
        self.stage = max(self.stage, stage, key=lambda step: step.order)

    def _plain(self, names: list[str], index: int, functions: Sequence[str]) -> TypedPiece:
        name = ".".join(names)
        if name in _WORDS:
            value = _WORDS[name]
            return TypedPiece(
                code=repr(value),
                kind=PieceKind.CONDITION,
                index=index,
                literal=value,
                constant=True,
            )
        if name == "none":
            return TypedPiece(
                code="None", kind=PieceKind.NONE, index=index, optional=True, constant=True
            )
        if name == MEMBER:
            if self.member is None:
                raise ExpressionFault(
                    (f"{MEMBER} stands for a member inside any_of(), all_of() and count_of() only"),
                    index,
                )
            return replace(self.member, index=index)
        fact = self.fact(name, index)
        if fact is not None:
            return fact
        if name in self.schema.lists:
            return self._list(name, index)
        if name in self.schema.by_family:
            family = self.schema.by_family[name]
            raise ExpressionFault(f"{name} takes a name: {family_example(family)}", index)
        if names[0] in COUNT_READERS:
            raise ExpressionFault(
                f"{names[0]} is written {names[0]}[TYPE].WINDOW.METRIC, such as {names[0]}[From].day.seen",
                index,
            )
        if name in functions:
            raise ExpressionFault(f"{name} is a function; write {name}(...)", index)
        try:
            condition = self._others.condition(name)
        except ExpressionFault as fault:
            raise ExpressionFault(fault.problem, index) from None
        if condition is not None:
            return self._referred(condition.code, condition.stage, condition.named, index)
        if name in self._others.names():
            raise ExpressionFault(f"{name} can be hit; write fired({name})", index)
        conditions = self._others.conditions()
        if name.isupper() and conditions:
            raise ExpressionFault(
                f"unknown condition {short(name)}{did_you_mean(name, conditions)}", index
            )
        known = (*self.schema.by_name, *self.schema.by_family, *self.schema.lists)
        raise ExpressionFault(f"unknown fact {short(name)}{did_you_mean(name, known)}", index)

    def _count(self, counted: CountedType, names: list[str], index: int) -> TypedPiece:
        if len(names) != 2:
            raise ExpressionFault(
                f"{counted.label} needs a window and a metric, such as .day.seen", index
            )
        window, metric = names
        if window not in WINDOWS:
            raise ExpressionFault(
                f"unknown window {short(window)}{did_you_mean(window, WINDOWS)}", index
            )
        if metric in METRICS:
            return self.total(counted, WINDOWS[window], METRICS[metric], index)
        if metric not in DERIVED_METRICS:
            guess = did_you_mean(metric, [*METRICS, *DERIVED_METRICS])
            raise ExpressionFault(f"unknown metric {short(metric)}{guess}", index)
        label = f"{counted.label}.{window}.{metric}"
        code = f"{COUNT_READERS[counted.family]}.{metric}({counted.number}, {int(WINDOWS[window])})"
        return self.load(code, label, counted.stage, PieceKind.NUMBER, index, optional=True)


def as_written(node: ast.expr, name: str, index: int, source: ExpressionSource) -> None:
    """Refuse what Python would read as another name: identifiers are NFKC-folded by its parser.

    Raises:
        Fault: it is not written in ASCII.
    """
    if not name.isascii() or source.text[index : index + len(name)] != name:
        raise ExpressionFault("names are written in plain ASCII letters", source.index(node))


def family_example(family: FactFamily) -> str:
    """Return one fact of a family, as rules write it."""
    member = family.members[0] if family.members else "NAME"
    return f"{family.name}[{member if member.isidentifier() else repr(member)}]"


def short(text: str) -> str:
    """Return the beginning of a text that stands in an error."""
    return text if len(text) <= 60 else text[:60] + "..."
