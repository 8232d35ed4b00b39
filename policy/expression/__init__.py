"""The language of rules: conditions on facts, checked when a policy is loaded, compiled to one function.

    schema = Schema(facts=(Fact(name="text.words", type=int, stage=Stage.CONTENT, doc="Words a reader sees."),))
    compiled = compile_rules([Rule(name="SHORT", when="text.words < 5", score=1.0)], schema)
    hits, errors = compiled.run(facts, Stage.CONTENT)

The language is Python's syntax for comparison (chained too), arithmetic, `and or not in`, a conditional expression,
literals, facts by their dotted names, counts, and the functions of `FUNCTIONS`. Text goes through four steps, each in
its file: `syntax` (limits, tree) -> `check` (allowed? fits together? which stage?) -> `compile` (one function), with
`template` for the words of a rule.
"""

from oborona.policy.expression.compile import CompiledRules, compile_rules
from oborona.policy.expression.functions import FUNCTIONS
from oborona.policy.expression.schema import Counted, Fact, FactType, Schema
from oborona.policy.expression.template import MAX_SAID

__all__ = ["FUNCTIONS", "MAX_SAID", "CompiledRules", "Counted", "Fact", "FactType", "Schema", "compile_rules"]
