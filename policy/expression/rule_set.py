"""All rules and conditions of a set, checked in the order in which they hang on each other.

A rule that names another by `fired(NAME)`, or a condition by its name, is checked after it; so the
code of every piece stands before the code that uses it, and a piece that hangs on itself is found,
with the way round. A live rule sees what live rules did, and nothing of those in shadow mode: what
is on trial decides nothing. A rule in shadow mode sees both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import Final, NamedTuple

from oborona.errors import PolicyError
from oborona.policy.expression.check import ExpressionChecker
from oborona.policy.expression.fault import ExpressionFault
from oborona.policy.expression.loads import RuleLoads, variable_name
from oborona.policy.expression.name_resolver import short
from oborona.policy.expression.references import RuleReference
from oborona.policy.expression.rule_cache import Answers, RuleCache, texts_of
from oborona.policy.expression.schema import FactSchema, PieceKind
from oborona.policy.expression.template import SayTemplate
from oborona.policy.expression.typed_piece import ARITHMETIC, require_kind
from oborona.policy.faults import PolicyFaults
from oborona.policy.rules import Condition, Rule
from oborona.toml import TomlPlace
from oborona.types import RuleHit, RuleMode, Stage

MAX_CHAIN: Final = 30  # rules that hang on one another, one after the other: more nobody follows

OFF: Final = "False"  # whether something fired that cannot


class RuleWarning(NamedTuple):
    """A rule that is allowed, and hardly meant so."""

    problem: str
    place: TomlPlace


class CheckedRule:
    """One rule or condition whose texts are checked.

    Attributes:
        local: the variable that says whether it holds.
        code: of the condition.
        score: code of a formula; empty where the score is a number.
        template: of its words.
        stage: from which it is known.
        named: facts that it names, by way of others, too.
        loads: what its code needs.
    """

    def __init__(self, given: Rule | Condition, checker: ExpressionChecker) -> None:
        self.given = given
        self.local = variable_name("r" if isinstance(given, Rule) else "c", given.name)
        self.score = ""
        at = "when"
        text = given.when
        try:
            when = checker.check_condition(text)
            self.code, self.constant = when.code, when.constant
            at, text = "say", given.say if isinstance(given, Rule) else ""
            self.template = SayTemplate(text, checker)
            if isinstance(given, Rule) and isinstance(given.score, str):
                at, text = "score", given.score
                self.score = _formula(checker, text)
        except ExpressionFault as fault:
            if (
                at == "score"
                and fault.problem.startswith("unknown fact")
                and text.strip().isidentifier()
            ):
                fault = ExpressionFault(
                    (
                        f'"{short(text.strip())}" is no number and no fact; write score = 10 '
                        f'without quotes, or a formula such as "10 * links"'
                    ),
                    fault.index,
                )
            raise refused(given, at, text, fault) from None
        stage = checker.names.stage
        named = given.stage if isinstance(given, Rule) else None
        self.stage = stage if named is None else named
        self.named = frozenset(checker.names.named)
        self.loads = checker.loads
        if self.stage.order < stage.order:
            problem = (
                f'rule {given.name}: its facts are known from stage "{stage}" on, not at "{named}"'
            )
            raise _error(problem, given.places.get("stage", TomlPlace()))

    def of(self, given: Rule | Condition) -> CheckedRule:
        """Return the same for a rule or condition of the same texts, which may stand elsewhere in
        the file and score otherwise.
        """
        same = copy(self)
        same.given = given
        return same


class RuleSet:
    """Checks rules and conditions that may name each other.

    Args:
        rules: of distinct names.
        conditions: of distinct names, and none that a rule has.
        schema: the facts.
        before: names of what can be hit before the rules run, with the stage from which that is
            known.
        memory: of what was checked before.
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        conditions: Sequence[Condition],
        schema: FactSchema,
        before: Mapping[str, Stage],
        memory: RuleCache[CheckedRule],
    ) -> None:
        self.warnings: list[RuleWarning] = []
        self.used: set[str] = set()  # locals of rules that others name
        self.asks_before = False  # whether a rule names something of `before`
        self._schema = schema
        self._memory = memory
        self._rules = {rule.name: rule for rule in rules}
        self._conditions = {condition.name: condition for condition in conditions}
        self._before = before
        self._open: list[str] = []
        self._done: dict[str, CheckedRule] = {}
        self._wrong: set[str] = set()  # has been told: by itself, or by what hangs on it

    def checked(self) -> Iterator[CheckedRule]:
        """Yield all conditions and all enabled rules, each after those it names.

        Once all are, the memory holds these and no others.

        Raises:
            PolicyError: some cannot be used; each with its place in the file.
        """
        faults = PolicyFaults()
        every: list[Rule | Condition] = [*self._conditions.values()]
        every += [rule for rule in self._rules.values() if rule.enabled]
        for each in every:
            with faults:
                if each.name not in self._wrong:
                    self.check(each)
        faults.end()
        self._memory.keep(self._done)
        yield from self._done.values()

    def check(self, rule: Rule | Condition) -> CheckedRule:
        """Return one of them, checked; each is checked once.

        Raises:
            PolicyError: it, or one that it names, cannot be used.
            Fault: it hangs on itself, or on too many.
        """
        done = self._done.get(rule.name)
        if done is not None:
            return done
        if rule.name in self._open:
            around = [*self._open[self._open.index(rule.name) :], rule.name]
            raise ExpressionFault(f"depends on itself: {' -> '.join(around)}")
        if len(self._open) >= MAX_CHAIN:
            raise ExpressionFault(f"depends on more than {MAX_CHAIN} others, one after the other")
        self._open.append(rule.name)
        try:
            done = self._done[rule.name] = self._cached(rule) or self._fresh(rule)
            for problem in dict.fromkeys(done.loads.noted):
                self._warn(rule, f"has a class that {problem}")
        except (ExpressionFault, PolicyError):
            self._wrong.add(rule.name)
            raise
        finally:
            self._open.pop()
        return done

    def _cached(self, rule: Rule | Condition) -> CheckedRule | None:
        """Return what the memory has of these texts, if all that they name is as it was."""
        cached = self._memory.find(rule.name, texts_of(rule))
        if cached is None:
            return None
        names = _Seen(self, rule, cached.made.loads)
        try:
            same = all(
                names.ask(*question) == answer for question, answer in cached.answers.items()
            )
        except ExpressionFault:
            return None  # as the check will say, with its place
        return cached.made.of(rule) if same else None

    def _fresh(self, rule: Rule | Condition) -> CheckedRule:
        loads = RuleLoads()
        names = _Seen(self, rule, loads)
        checked = CheckedRule(rule, ExpressionChecker(self._schema, loads, names))
        self._memory.note(rule.name, texts_of(rule), names.answers, checked)
        return checked

    def condition(self, name: str) -> RuleReference | None:
        """Return a named condition; None for an unknown name."""
        condition = self._conditions.get(name)
        if condition is None:
            return None
        checked = self.check(condition)
        return RuleReference(checked.local, checked.stage, checked.named)

    def conditions(self) -> Sequence[str]:
        """Return the names of all conditions."""
        return tuple(self._conditions)

    def fired(self, name: str, asking: Rule | Condition, loads: RuleLoads) -> RuleReference | None:
        """Return whether something was hit, as a live rule sees it or one in shadow mode.

        None for an unknown name.
        """
        live = isinstance(asking, Condition) or asking.mode is RuleMode.LIVE
        rule = self._rules.get(name)
        if rule is None:
            if name not in self._before:
                return None
            self.asks_before = True
            code = f"({name!a} in {'live' if live else 'every'})"
            label = f"fired({name})"
            return RuleReference(
                loads.fact(code, label, self._before[name]).local, self._before[name]
            )
        if not rule.enabled or (live and rule.mode is not RuleMode.LIVE):
            state = (
                "switched off"
                if not rule.enabled
                else "in shadow mode, which live rules do not see"
            )
            self._warn(asking, f"names {name}, which is {state}")
            return RuleReference(OFF, Stage.CONNECT)
        checked = self.check(rule)
        self.used.add(checked.local)
        return RuleReference(checked.local, checked.stage, checked.named)

    def names(self) -> Iterable[str]:
        """Return the names of everything that can be hit."""
        return (*self._rules, *self._before)

    def _warn(self, rule: Rule | Condition, problem: str) -> None:
        warned = RuleWarning(f"{_called(rule)} {problem}", rule.places.get("when", TomlPlace()))
        if warned not in self.warnings:
            self.warnings.append(warned)


class _Seen:
    """The set as one of its rules sees it.

    Attributes:
        answers: to what was asked so far.
    """

    def __init__(self, rules: RuleSet, asking: Rule | Condition, loads: RuleLoads) -> None:
        self.answers: Answers = {}
        self._rules = rules
        self._asking = asking
        self._loads = loads

    def condition(self, name: str) -> RuleReference | None:
        """Return a named condition."""
        return self.ask(name, fired=False)

    def conditions(self) -> Sequence[str]:
        """Return the names of all conditions."""
        return self._rules.conditions()

    def fired(self, name: str) -> RuleReference | None:
        """Return whether something was hit."""
        return self.ask(name, fired=True)

    def ask(self, name: str, fired: bool) -> RuleReference | None:
        """Return either.

        Raises:
            Fault: it hangs on itself, or on too many.
        """
        of = self._rules
        answer = of.fired(name, self._asking, self._loads) if fired else of.condition(name)
        self.answers[name, fired] = answer
        return answer

    def names(self) -> Iterable[str]:
        """Return the names of everything that can be hit."""
        return self._rules.names()


def hit_maker(checked: CheckedRule, rule: Rule) -> object:
    """Return what makes a rule's hit of the values of its words, and of its score where that is a
    formula.
    """
    fill = checked.template.fill
    name, mode, score = rule.name, rule.mode, rule.score
    if isinstance(score, str):
        return lambda values, points: RuleHit(name=name, score=points, say=fill(values), mode=mode)
    if checked.template.codes:
        return lambda values: RuleHit(name=name, score=score, say=fill(values), mode=mode)
    same = RuleHit(name=name, score=score, say=fill(()), mode=mode)
    return lambda _: same


def refused(rule: Rule | Condition, field: str, text: str, fault: ExpressionFault) -> PolicyError:
    """Return the error of one field, with its place in the file."""
    problem = f"{_called(rule)}: {field}: {fault.problem}"
    place = rule.places.get(field)
    if place is None:
        before = text[: fault.index]
        return PolicyError(
            problem, line=before.count("\n") + 1, column=len(before) - before.rfind("\n")
        )
    return _error(problem, place.inside(fault.index))


def _formula(checker: ExpressionChecker, text: str) -> str:
    piece = checker.check(text)
    if piece.kind is not PieceKind.NONE:
        require_kind(piece, ARITHMETIC, "score")
    return f"points({piece.code})"


def _called(rule: Rule | Condition) -> str:
    return f"{'rule' if isinstance(rule, Rule) else 'condition'} {rule.name}"


def _error(problem: str, place: TomlPlace) -> PolicyError:
    return PolicyError(problem, file=place.file, line=place.line, column=place.column)
