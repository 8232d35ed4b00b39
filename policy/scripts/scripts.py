"""The rules and checks of scripts, run for each message: checks add findings, then rules fire.

What fails is a finding and harms nobody.

A function that fails on `MOST_FAILURES` of `PERIOD` messages is switched off until the policy is
read again, which is said once.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from oborona.policy.expression.template import printable
from oborona.policy.facts import Facts, with_values
from oborona.policy.private_rules import WORDY, is_private
from oborona.policy.rules import Rule
from oborona.toml import TomlPlace
from oborona.types import Finding, RuleHit, Stage

if TYPE_CHECKING:  # it imports lupa, which a policy without scripts does not need
    from oborona.policy.scripts.runtime import FunctionResult, ScriptRuntime

SCRIPT_FAILED: Final = "script-failed"
FINDINGS: Final = {SCRIPT_FAILED: "a rule or check of a script failed, and was left out"}
MOST_FAILURES: Final = 10
PERIOD: Final = 100  # messages, or stages of one, in which they are counted
# of functions that run together: two a stage, and two for each set that is left out
MOST_TABLES: Final = 50
_TOLD: Final = 3  # failures that a finding names
_WORDS: Final = 200  # characters of an error
_PLACED: Final = re.compile(r"(\d+):(\d+): (.*)", re.DOTALL)
_LUA: Final = {
    "not enough memory": "takes too much memory",
    "C stack overflow": "is nested too deeply",
    "stack overflow": "functions call each other too deeply",
}


class ScriptFunction(msgspec.Struct, frozen=True, kw_only=True):
    """A function of a script that is run for messages."""

    name: str  # of the rule or finding
    slot: int  # in the machine
    place: TomlPlace  # of its first line
    last: int  # line
    stage: Stage  # from which it runs
    enabled: bool
    named: frozenset[str]  # facts that it may ask for at this stage
    rule: Rule | None = None  # None: a check


class ScriptProblem(NamedTuple):
    """A fault, and its place."""

    name: str  # of the rule or finding; empty: of the machine
    file: str
    line: int
    words: str

    def __str__(self) -> str:
        """A line for the log."""
        return f"script {self.file}:{self.line}: {self.name}: {self.words}"


class ScriptResults(NamedTuple):
    """The results of scripts on a message."""

    facts: Facts  # with their findings
    findings: tuple[Finding, ...] = ()
    hits: tuple[RuleHit, ...] = ()
    problems: tuple[ScriptProblem, ...] = ()


class SkippedFunctions(NamedTuple):
    """Functions that do not run on a message, as facts that they need are no longer known."""

    names: frozenset[str] = frozenset()
    # what those of them that are checks found when they did run
    found: frozenset[str] = frozenset()


ALL_RUN: Final = SkippedFunctions()


class Scripts:
    """All scripts of a policy.

    Args:
        runtime: the machine they live in.
        files: their names, by number.
        functions: of their rules and checks.

    Attributes:
        functions: as given.
        named: the facts that the functions of each stage, and of those before it, may ask for.
        private, wordless: as of `CompiledRules`.
    """

    def __init__(
        self, runtime: ScriptRuntime, files: Sequence[str], functions: Iterable[ScriptFunction]
    ) -> None:
        self.functions = tuple(functions)
        self.named = {
            stage: frozenset[str]().union(
                *(
                    function.named
                    for function in self.functions
                    if function.enabled and function.stage.order <= stage.order
                )
            )
            for stage in Stage
        }
        rules = [function for function in self.functions if function.rule is not None]
        self.private = frozenset(function.name for function in rules if is_private(function.named))
        self.wordless = frozenset(
            function.name for function in rules if not WORDY.isdisjoint(function.named)
        )
        self._runtime = runtime
        self._files = tuple(files)
        self._by_slot = {function.slot: function for function in self.functions}
        self._off: set[int] = set()
        self._failures: Counter[int] = Counter()
        self._runs = 0
        self._tables: dict[tuple[bool, Stage, frozenset[str]], Any] = {}

    @property
    def stages(self) -> dict[str, Stage]:
        """From which stage on each enabled rule runs, by name."""
        return {
            function.name: function.stage
            for function in self.functions
            if function.enabled and function.rule is not None
        }

    def judge(
        self, facts: Facts, stage: Stage, without: SkippedFunctions = ALL_RUN
    ) -> ScriptResults:
        """Return what they find in a message, and which of their rules fire.

        Args:
            facts: as far as `stage` knows them.
            stage: functions of this stage and of those before it run.
            without: functions that do not run.

        Never raises; ends in bounded time.
        """
        self._runs += 1
        if self._runs % PERIOD == 0:
            self._failures.clear()
        failed: list[ScriptProblem] = []
        findings = [
            Finding(function.name, words)
            for function, _, words in self._run(facts, stage, without.names, failed, checks=True)
        ]
        facts = _with(facts, findings, without.found)
        hits = [
            RuleHit(
                name=rule.name,
                score=round(rule.score * share, 2),
                say=_say(rule, words),
                mode=rule.mode,
            )
            for function, share, words in self._run(
                facts, stage, without.names, failed, checks=False
            )
            if (rule := function.rule) is not None and isinstance(rule.score, float | int)
        ]
        if failed:
            places = dict.fromkeys(f"{_short(problem.file)}:{problem.line}" for problem in failed)
            finding = Finding(SCRIPT_FAILED, printable(", ".join([*places][:_TOLD])))
            findings.append(finding)
            facts = _with(facts, [finding])
        return ScriptResults(facts, tuple(findings), tuple(hits), tuple(failed))

    def problem(self, function: ScriptFunction, result: FunctionResult) -> ScriptProblem | None:
        """Return what is wrong with what a function gave, or nothing."""
        words = ""
        if result.failed:
            return locate_error(result.words, self._files, function.place)._replace(
                name=function.name
            )
        if function.rule is None and result.share not in (None, 1.0):
            words = "gives a number; a check gives a text, true, false or nil"
        elif function.rule is not None and result.share is None:
            words = "gives a text first; a rule gives true, false, nil or a share of its score"
        elif result.share is not None and math.isnan(result.share):
            words = "gives a number that is none (0/0)"
        return (
            ScriptProblem(function.name, function.place.file, function.place.line, words)
            if words
            else None
        )

    def _run(
        self,
        facts: Facts,
        stage: Stage,
        without: frozenset[str],
        failed: list[ScriptProblem],
        *,
        checks: bool,
    ) -> list[tuple[ScriptFunction, float, str]]:
        table = self._table(stage, without, checks=checks)
        if table is None:
            return []
        good: list[tuple[ScriptFunction, float, str]] = []
        for result in self._runtime.run(table, stage.order, facts):
            function = self._by_slot.get(result.slot)
            if function is None:  # the machine itself failed: no memory even between two functions
                failed.append(ScriptProblem("", self._files[0], 0, result.words))
                continue
            problem = self.problem(function, result)
            if problem is not None:
                failed.append(self._failed(function, problem))
            elif function.rule is None:
                good.append((function, 1.0, printable(result.words)))
            elif share := min(max(result.share or 0.0, 0.0), 1.0):
                good.append((function, share, result.words))
        return good

    def _failed(self, function: ScriptFunction, problem: ScriptProblem) -> ScriptProblem:
        self._failures[function.slot] += 1
        if self._failures[function.slot] < MOST_FAILURES:
            return problem
        self._off.add(function.slot)
        self._tables.clear()
        words = (
            f"failed on {MOST_FAILURES} of {self._runs % PERIOD or PERIOD} messages, and is "
            f"off until the policy is read again"
        )
        return problem._replace(words=f"{problem.words}; it {words}")

    def _table(self, stage: Stage, without: frozenset[str], *, checks: bool) -> Any:
        key = checks, stage, without
        if key not in self._tables:
            if len(self._tables) >= MOST_TABLES:
                self._tables.clear()
            slots = [
                function.slot
                for function in self.functions
                if function.enabled
                and function.stage.order <= stage.order
                and (function.rule is None) == checks
                and function.slot not in self._off
                and function.name not in without
            ]
            self._tables[key] = self._runtime.table(slots) if slots else None
        return self._tables[key]


def locate_error(problem: str, files: Sequence[str], otherwise: TomlPlace) -> ScriptProblem:
    """Return an error of Lua with the file and line that it names by number, and nobody's name.

    Args:
        problem: `3:12: ...`, or one without a place.
        files: by number.
        otherwise: the place of one without.
    """
    match = _PLACED.fullmatch(problem)
    words = match[3] if match else problem
    for lua, ours in _LUA.items():
        if lua in words:
            words = ours
    words = printable(words[:_WORDS])
    if match and int(match[1]) < len(files):
        return ScriptProblem("", files[int(match[1])], int(match[2]), words)
    return ScriptProblem("", otherwise.file, otherwise.line, words)


def _with(facts: Facts, findings: Iterable[Finding], more: frozenset[str] = frozenset()) -> Facts:
    names = more.union(finding.name for finding in findings)
    return with_values(facts, findings=facts.findings | names) if names else facts


def _say(rule: Rule, words: str) -> str:
    return printable(": ".join(part for part in (rule.say, words) if part))


def _short(file: str) -> str:
    return file.rpartition("/")[2]
