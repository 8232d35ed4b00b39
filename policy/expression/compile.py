"""All rules of a set to one function.

The function that is generated looks like this; `f` is the facts object, `stage` how much of it is
known:

    def run(f, stage, hits, errors, live, every):
        r1 = False                                      rules that others name
        try: v0 = f.count(14, 2, 0)                     every fact is read once
        except Exception as e: errors.append(...)
        try: c0 = (v0 is not None and v0 == 0)          a condition with a name
        except Exception as e: errors.append(...)
        try:
            if (c0 and (v1 > 0.99)):                    a rule
                try: said = (v1, v0,)                   what its words need
                except Exception: said = ()
                hits.append(H0(said))
        except Exception as e: errors.append(...)
        if stage < 1: return                            facts and rules of the next stage follow

with the hash of what it stands for in place of each number: see `loads`.

A rule that fails does not fire, is reported by name, and stops no other; so does every rule that
names a fact which could not be read. The code sees no builtins but the functions of the language.
`benchmarks/rules_cost.py` measures it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import CodeType
from typing import Any, Final

from oborona.policy.expression.loads import FactLoad
from oborona.policy.expression.rule_cache import RuleCache
from oborona.policy.expression.rule_set import CheckedRule, RuleSet, RuleWarning, hit_maker
from oborona.policy.expression.runtime import NAMES
from oborona.policy.expression.schema import FactSchema
from oborona.policy.private_rules import WORDY, is_private
from oborona.policy.rules import Condition, Rule
from oborona.types import CounterPrefix, RuleHit, RuleMode, Stage

MAX_ERROR: Final = 200  # characters of an exception's text that are passed on

_NONE: Final[frozenset[str]] = frozenset()
_Function = Callable[[object, int, list[RuleHit], list[str], frozenset[str], frozenset[str]], None]


ToCode = Callable[[str], CodeType]
RuleMemory = RuleCache[CheckedRule]


class CompiledRules:
    """What `compile_rules` makes; the same object serves any number of messages.

    Attributes:
        rules: as given, in their order.
        stages: from which stage on each rule runs, by name.
        named: the facts that the rules of each stage, and of those before it, name.
        private: names of rules that are not told: they ask for traps (`oborona.policy.disclosure`).
        wordless: names of those that are told without what their words say of traps.
        timelines: types of shingles whose time-lines the rules ask for.
        turned: texts and patterns of rules and conditions that are looked for in another form than
            they are written in, by name.
        schema: what they may name.
        before: names of what can be hit before the rules run.
        warnings: what is allowed, and hardly meant.
        source: the generated code, for a reader.
    """

    def __init__(
        self,
        rules: tuple[Rule, ...],
        checked: Sequence[CheckedRule],
        timelines: frozenset[int],
        across: Mapping[CounterPrefix, frozenset[int]],
        warnings: Sequence[RuleWarning],
        source: str,
        function: _Function,
        schema: FactSchema,
        before: Mapping[str, Stage],
        *,
        asks_before: bool,
    ) -> None:
        self.rules = rules
        self.schema = schema
        self.before = before
        self.stages = {
            rule.given.name: rule.stage for rule in checked if isinstance(rule.given, Rule)
        }
        self.named = {
            stage: frozenset[str]().union(
                *(rule.named for rule in checked if rule.stage.order <= stage.order)
            )
            for stage in Stage
        }
        self.private = frozenset(
            rule.given.name
            for rule in checked
            if is_private(rule.named, rule.given.when, str(getattr(rule.given, "score", "")))
        )
        self.wordless = frozenset(
            rule.given.name for rule in checked if not WORDY.isdisjoint(rule.named)
        )
        self.timelines = timelines
        self._across = across
        self.turned = {
            rule.given.name: dict(rule.loads.turned) for rule in checked if rule.loads.turned
        }
        self.warnings = tuple(warnings)
        self.source = source
        self._function = function
        self._asks_before = asks_before

    def across(self, direction: CounterPrefix) -> frozenset[int]:
        """Return the types of which rules ask for the counts of the other direction, too.

        Args:
            direction: of a message.
        """
        return self._across[direction]

    def run(
        self, facts: object, stage: Stage, before: Sequence[RuleHit] = ()
    ) -> tuple[list[RuleHit], list[str]]:
        """Return the rules that fired, and what went wrong with others.

        Args:
            facts: has the attributes and methods that the schema promises, as far as `stage` knows
                them.
            stage: rules of this stage and of those before it run.
            before: what was hit before, by others than these rules.

        Hits come by stage, then in the order of the rules, each after those that it names. Errors
        name the rule or the fact. Never raises.
        """
        hits: list[RuleHit] = []
        errors: list[str] = []
        live = every = _NONE
        if before and self._asks_before:
            live = frozenset(hit.name for hit in before if hit.mode is RuleMode.LIVE)
            every = frozenset(hit.name for hit in before)
        self._function(facts, stage.order, hits, errors, live, every)
        return hits, errors


def code_of(source: str) -> CodeType:
    """Return source as code; nothing else of Python runs meanwhile, for 0.2 ms a rule."""
    return compile(source, "<rules>", "exec")


def compile_rules(
    rules: Sequence[Rule],
    schema: FactSchema,
    conditions: Sequence[Condition] = (),
    before: Mapping[str, Stage] | None = None,
    to_code: ToCode = code_of,
    memory: RuleMemory | None = None,
) -> CompiledRules:
    """Return all rules as one function.

    Args:
        rules: of distinct names; those with `enabled` off are left out.
        schema: what they may name.
        conditions: with names that rules may use.
        before: names of what can be hit before the rules run, with the stage from which that is
            known; None = nothing.
        to_code: turns the source into code, or knows the code of this very source.
        memory: of what was compiled before; the same rules give the same source, with one or
            without.

    Raises:
        PolicyError: rules that cannot be used, each with its place in the file.
    """
    memory = RuleMemory() if memory is None else memory
    memory.begin(schema)
    rules_set = RuleSet(rules, conditions, schema, before or {}, memory)
    checked = list(rules_set.checked())
    loads = {code: load for rule in checked for code, load in rule.loads.facts.items()}
    inner = {name: function for rule in checked for name, function in rule.loads.inner.items()}
    source = "\n".join([*inner.values(), *_generate(checked, loads.values(), rules_set.used)])
    names: dict[str, Any] = {
        "__builtins__": {},
        "Exception": Exception,
        "failed": _failed,
        **NAMES,
    }
    for rule in checked:
        names |= rule.loads.constants
        if isinstance(rule.given, Rule):
            names[_hit(rule)] = hit_maker(rule, rule.given)
    exec(to_code(source), names)  # noqa: S102 - the code was put together by `check`
    warnings = [*rules_set.warnings, *_never(checked, names)]
    return CompiledRules(
        tuple(rules),
        checked,
        frozenset(kind for rule in checked for kind in rule.loads.timelines),
        {
            direction: frozenset(
                kind for rule in checked for of, kind in rule.loads.across if of is direction
            )
            for direction in (CounterPrefix.IN, CounterPrefix.OUT)
        },
        warnings,
        source,
        names["run"],
        schema,
        before or {},
        asks_before=rules_set.asks_before,
    )


def _never(checked: Sequence[CheckedRule], names: dict[str, Any]) -> list[RuleWarning]:
    """Warn of conditions that name no fact and do not hold."""
    constant = [rule for rule in checked if rule.constant]
    return [
        RuleWarning(
            f"{rule.given.name} can never hold: it names no fact, and is false",
            rule.given.places["when"],
        )
        for rule in constant
        if "when" in rule.given.places and not eval(rule.code, names)  # noqa: S307 - as above
    ]


def _generate(
    checked: Sequence[CheckedRule], loads: Iterable[FactLoad], used: set[str]
) -> list[str]:
    lines = ["def run(f, stage, hits, errors, live, every):"]
    lines += [f" {local} = False" for local in sorted(used)]
    for stage in Stage:
        if stage.order:
            lines.append(f" if stage < {stage.order}: return")
        for load in loads:
            if load.stage is stage:
                lines += _read(load)
        for rule in checked:
            if rule.stage is stage:
                lines += (
                    _rule(rule, rule.given, used)
                    if isinstance(rule.given, Rule)
                    else _condition(rule)
                )
    return lines


def _hit(checked: CheckedRule) -> str:
    """Return the name of what makes a rule's hit."""
    return f"H{checked.local}"


def _read(load: FactLoad) -> list[str]:
    return _guarded_lines(load.label, [f"{load.local} = {load.code}"])


def _condition(checked: CheckedRule) -> list[str]:
    return _guarded_lines(checked.given.name, [f"{checked.local} = {checked.code}"])


def _rule(checked: CheckedRule, rule: Rule, used: set[str]) -> list[str]:
    words, more = "()", []
    if checked.template.codes:
        values = "".join(f"{code}, " for code in checked.template.codes)
        words, more = "said", [" try:", f"  said = ({values})", " except Exception:", "  said = ()"]
    points = f", {checked.score}" if checked.score else ""
    noted = [f" {checked.local} = True"] if checked.local in used else []
    return _guarded_lines(
        rule.name,
        [f"if {checked.code}:", *more, f" hits.append({_hit(checked)}({words}{points}))", *noted],
    )


def _guarded_lines(label: str, lines: Sequence[str]) -> list[str]:
    """Return lines whose failure is reported under a name, and stops nothing else."""
    return [
        " try:",
        *(f"  {line}" for line in lines),
        " except Exception as e:",
        f"  errors.append(failed({label!a}, e))",
    ]


def _failed(name: str, fault: Exception) -> str:
    """Return a line about a rule or fact that failed."""
    # a local that was never set: its fact has been reported already
    if isinstance(fault, NameError):
        return f"{name}: a fact it names could not be read"
    try:
        words = str(fault)[:MAX_ERROR]
    except Exception:  # noqa: BLE001 - another's exception may fail even at this
        words = ""
    return f"{name}: {type(fault).__name__}: {words}"
