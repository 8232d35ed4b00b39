"""The language of rules: conditions on facts, checked when a policy is loaded, compiled to one
function.

    schema = FactSchema(
        facts=(Fact(name="text.words", type=int, stage=Stage.CONTENT, doc="Words a reader sees."),)
    )
    compiled = compile_rules([Rule(name="SHORT", when="text.words < 5", score=1.0)], schema)
    hits, errors = compiled.run(facts, Stage.CONTENT)

The language is Python's syntax for comparison (chained too), arithmetic, `and or not in`, a
conditional expression, literals, facts by their dotted names, counts, conditions by theirs, and the
functions of `REFERENCE`. Text goes through four steps, each in its file: `syntax` (limits, tree) ->
`check` (allowed? types? which stage?) -> `rule_set` (dependencies) -> `compile` (one function),
with `template` for a rule's message. An unknown value is `none`: see `typed_piece`.
"""

from oborona.policy.expression.calls import REFERENCE
from oborona.policy.expression.compile import (
    CompiledRules,
    RuleMemory,
    ToCode,
    code_of,
    compile_rules,
)
from oborona.policy.expression.schema import CountedType, Fact, FactSchema, FactType
from oborona.policy.expression.template import MAX_SAID

__all__ = [
    "MAX_SAID",
    "REFERENCE",
    "CompiledRules",
    "CountedType",
    "Fact",
    "FactSchema",
    "FactType",
    "RuleMemory",
    "ToCode",
    "code_of",
    "compile_rules",
]
