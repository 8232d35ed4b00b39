"""Scripts read and run once: the rules and checks that they register, as if they stood in a policy
file.

A script's rules become a document of the same shape as a TOML file's `[[rule]]` tables, so that one
schema, one set of names and one law for later files hold for both.  A rule whose condition is a
function has `when` from a file `*.lua`.  Every function is tried once on a message of which nothing
is known: what fails there would fail on mail, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from oborona.errors import PolicyError
from oborona.policy.expression import FactSchema
from oborona.policy.named_tables import Enabled, Why, refuse
from oborona.policy.rules import Rule
from oborona.policy.scripts.answers import ScriptAnswers
from oborona.policy.scripts.reach import FactReach
from oborona.policy.scripts.scripts import ScriptFunction, Scripts, locate_error
from oborona.policy.scripts.source import problem_of_found, source
from oborona.toml import TomlDocument, TomlPlace, table
from oborona.types import Stage

if TYPE_CHECKING:
    from oborona.policy.scripts.runtime import RegisteredFunction, ScriptRuntime


class CheckTable(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of a script's check beside its function."""

    name: Annotated[
        str,
        Meta(
            pattern=r"\A[a-z][a-z0-9]*(-[a-z0-9]+)*\Z",
            max_length=64,
            extra={
                "allowed": "small letters, digits and single hyphens, at most 64, such as many-hosts"
            },
        ),
    ]
    stage: Stage | UnsetType = UNSET
    enabled: Enabled | UnsetType = UNSET
    why: Why | UnsetType = UNSET


_FROM_ELSEWHERE: Final = ("when", "test")  # keys of a rule that a script does not give as text


class LoadedScripts:
    """The scripts of a policy, run once.

    Args:
        files: names and contents, in the order of the policy's files.
        schema: the facts that there are.

    Attributes:
        schema: the same, with the findings of the scripts' checks.
        meant: what each says, without comments and white space; those that say nothing left out.

    Raises:
        PolicyError: anything wrong with any of them, with file and line; nothing else.
    """

    def __init__(self, files: Mapping[str, bytes], schema: FactSchema) -> None:
        self._sources = [source(raw, file, schema) for file, raw in files.items()]
        self.meant = tuple(
            script_source.meant for script_source in self._sources if script_source.meant
        )
        self._answers = ScriptAnswers(schema)
        self._runtime: ScriptRuntime | None = None
        self._registered: list[RegisteredFunction] = []
        if self.meant:
            self._run_all()
        self.schema = schema
        self._reaches = [
            FactReach(
                text,
                [(call.first, call.last) for call in self._registered if call.file == number],
                schema,
            )
            for number, text in enumerate(self._sources)
        ]
        self._checks = self._of_checks(schema)
        if schema.findings is not None:
            findings = {**schema.findings, **{check.name: check.stage for check in self._checks}}
            self.schema = self._answers.schema = replace(schema, findings=findings)
        self._found_exist()

    def _run_all(self) -> None:
        from oborona.policy.scripts.runtime import LOADED, ScriptRuntime  # noqa: PLC0415 - it imports lupa

        self._runtime = ScriptRuntime(self._answers, self._registered)
        for number, script_source in enumerate(self._sources):
            problem = self._runtime.load(number, script_source.text)
            if problem:
                wrong = locate_error(
                    problem,
                    [script.file for script in self._sources],
                    TomlPlace(script_source.file),
                )
                raise PolicyError(wrong.words, file=wrong.file, line=wrong.line)
        if not self._runtime.seal():
            problem = f"scripts hold more than {LOADED >> 20} MiB once they are read"
            raise PolicyError(problem, file=self._sources[-1].file)

    def document(self, file: str) -> TomlDocument:
        """Return a script's rules as a policy file would give them."""
        rules: list[dict[str, Any]] = []
        keys: dict[tuple[str | int, ...], TomlPlace] = {}
        for registered in self._registered:
            if registered.kind == "rule" and self._sources[registered.file].file == file:
                place = self._place(registered)
                for key in _FROM_ELSEWHERE:
                    if key in registered.fields:
                        raise refuse(f"oborona.rule: {key} is not a text here", place)
                if isinstance(registered.fields.get("score"), str):
                    raise refuse(
                        ("oborona.rule: score is a number; the function may return a share of it"),
                        place,
                    )
                keys["rule", len(rules)] = place
                rules.append(
                    {
                        **registered.fields,
                        "when": f"function in lines {registered.first} to {registered.last}",
                    }
                )
        return TomlDocument(file=file, data={"rule": rules} if rules else {}, keys=keys, values={})

    def bound(self, rules: Iterable[Rule]) -> Scripts | None:
        """Return the scripts, with their rules as all files together have them.

        None where there is nothing to run.

        Args:
            rules: of the policy; those without a function are passed over.

        Raises:
            PolicyError: a rule or check that cannot be used, with its place.
        """
        slots = {
            (self._sources[registered.file].file, registered.fields.get("name")): registered
            for registered in self._registered
            if registered.kind == "rule"
        }
        functions = list(self._checks)
        functions += [
            self._of_rule(rule, slots[rule.places["when"].file, rule.name])
            for rule in rules
            if rule.scripted
        ]
        if self._runtime is None or not functions:
            return None
        scripts = Scripts(
            self._runtime, [script_source.file for script_source in self._sources], functions
        )
        for registered in functions:
            if registered.enabled:
                _try(registered, scripts, self._runtime)
        return scripts

    def _of_checks(self, schema: FactSchema) -> list[ScriptFunction]:
        functions_by_name: dict[str, ScriptFunction] = {}
        for registered in self._registered:
            if registered.kind != "check":
                continue
            place = self._place(registered)
            document = TomlDocument(
                file=place.file,
                data={"check": [registered.fields]},
                keys={("check", 0): place},
                values={},
            )
            fields = table(
                document, ("check", 0), CheckTable, name="oborona.check", error=PolicyError
            )
            if "name" not in fields:
                raise refuse("a check without name", place)
            name = fields["name"].value
            if name in (schema.findings or ()) or name in functions_by_name:
                raise refuse(f'there is a finding "{name}" already', place)
            stage = fields["stage"].value if "stage" in fields else Stage.CONTENT
            enabled = fields["enabled"].value if "enabled" in fields else True
            functions_by_name[name] = self._function(registered, name, stage, enabled=enabled)
        return list(functions_by_name.values())

    def _of_rule(self, rule: Rule, registered: RegisteredFunction) -> ScriptFunction:
        for key, words in (
            ("score", "is a number for a rule of a script"),
            ("test", "does not reach a script"),
        ):
            if (key == "score" and isinstance(rule.score, str)) or (key == "test" and rule.test):
                raise refuse(f"rule {rule.name}: {key} {words}", rule.places[key])
        return msgspec.structs.replace(
            self._function(
                registered, rule.name, rule.stage or Stage.CONTENT, enabled=rule.enabled
            ),
            rule=rule,
        )

    def _function(
        self, registered: RegisteredFunction, name: str, stage: Stage, *, enabled: bool
    ) -> ScriptFunction:
        """Return a function as it is run.

        Raises:
            PolicyError: it names a fact that is known later than it runs.
        """
        file, reach, lines = (
            self._sources[registered.file].file,
            self._reaches[registered.file],
            (registered.first, registered.last),
        )
        late = reach.too_late(lines, stage)
        if late is not None:
            earliest = self.schema.by_name[late.name].stage
            problem = f'{name}: {late.name} is known from stage "{earliest}" on, not at "{stage}"'
            raise PolicyError(problem, file=file, line=late.line, column=late.column)
        return ScriptFunction(
            name=name,
            slot=registered.slot,
            place=TomlPlace(file, registered.first),
            last=registered.last,
            stage=stage,
            enabled=enabled,
            named=reach.named(lines, stage),
        )

    def _found_exist(self) -> None:
        for text in self._sources:
            for finding in text.asked:
                problem = problem_of_found(self.schema, [finding.name])
                if problem:
                    raise PolicyError(
                        problem, file=text.file, line=finding.line, column=finding.column
                    )

    def _place(self, registered: RegisteredFunction) -> TomlPlace:
        return TomlPlace(self._sources[registered.file].file, registered.line)


def _try(function: ScriptFunction, scripts: Scripts, runtime: ScriptRuntime) -> None:
    """Refuse a function that fails on a message of which nothing is known."""
    for result in runtime.run(runtime.table([function.slot]), function.stage.order, None):
        problem = scripts.problem(function, result)
        if problem is not None:
            words = f"{function.name}: fails on an empty message: {problem.words}"
            raise PolicyError(words, file=problem.file, line=problem.line)
