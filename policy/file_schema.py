"""The JSON schema of policy files, for editors: keys, types, ranges and words of every table, and
what conditions may name.

It is made of the very tables that files are read by, so that an editor knows what the loader knows;
what expressions mean is beyond it, and is checked when the file is read.

Source: JSON Schema 2020-12; taplo and Even Better TOML find it by a first line
`#:schema ./schema.json`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from oborona.policy.expression import REFERENCE, Fact, FactSchema
from oborona.policy.expression.schema import DERIVED_METRICS, METRICS, WINDOWS, PieceKind
from oborona.policy.file_tables import SINGLE, SORTS
from oborona.policy.rule_tests import NONE
from oborona.policy.rules import TestTable

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_REFERENCE: Final = "#/$defs/{name}"


def file_schema(schema: FactSchema) -> dict[str, Any]:
    """Return the JSON schema of a policy file.

    Args:
        schema: what conditions may name.
    """
    tables: list[type[msgspec.Struct]] = [
        *SINGLE.values(),
        *(sort.schema for sort in SORTS),
        TestTable,
    ]
    references, parts = msgspec.json.schema_components(tables, ref_template=_REFERENCE)
    of = dict(zip((table.__name__ for table in tables), references, strict=True))
    parts = {name: _for_editors(part) for name, part in parts.items()}
    for table in tables:
        parts[table.__name__]["additionalProperties"] = False
    rule, event_rule = (parts[name]["properties"] for name in ("RuleTable", "EventRuleTable"))
    parts["TestTable"]["properties"]["facts"]["properties"] = {
        fact.name: _fact(fact) for fact in schema.facts
    }
    rule["test"] |= {"type": "array", "items": of["TestTable"]}
    event_rule["test"] |= {"type": "array", "items": of["TestTable"]}
    named = _named(schema)
    for part, keys in (("RuleTable", ("when", "say", "score")), ("ConditionTable", ("when",))):
        for key in keys:
            field = parts[part]["properties"][key]
            words = field.get("description") or field["anyOf"][0]["description"]
            field["description"] = f"{words}\n\n{named}"
    properties: dict[str, Any] = {name: of[table.__name__] for name, table in SINGLE.items()}
    for sort in SORTS:
        properties[sort.key] = {"type": "array", "items": of[sort.schema.__name__]}
        parts[sort.schema.__name__]["required"] = ["name"]
    parts["TestTable"]["required"] = ["hit"]
    return {
        "$schema": DRAFT,
        "title": "Policy of Oborona",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "$defs": parts,
    }


def _fact(fact: Fact) -> dict[str, Any]:
    """Return what a test may give for a fact."""
    text: dict[str, Any] = {"type": "string"}
    if fact.words:
        text["enum"] = [*fact.words]
    kinds: dict[PieceKind, dict[str, Any]] = {
        PieceKind.NUMBER: {"type": "number"},
        PieceKind.CONDITION: {"type": "boolean"},
        PieceKind.TEXT: text,
        PieceKind.SET: {"type": "array", "items": text},
    }
    kind = kinds[fact.kind]
    if fact.optional:
        kind = {"anyOf": [kind, {"const": NONE}]}
    return {"description": fact.doc + (f" ({fact.unit})" if fact.unit else ""), **kind}


def _for_editors(part: Any) -> Any:
    """Return a piece of schema in the words of JSON Schema: patterns of ECMAScript, no defaults
    that stand for nothing.
    """
    if isinstance(part, list):
        return [_for_editors(member) for member in part]
    if not isinstance(part, dict):
        return part
    schema = {key: _for_editors(value) for key, value in part.items() if key != "title"}
    if isinstance(schema.get("pattern"), str):
        schema["pattern"] = schema["pattern"].replace(r"\A", "^").replace(r"\Z", "$")
    if isinstance(schema.get("description"), str):
        schema["description"] = " ".join(schema["description"].split())  # docstrings are wrapped
    return schema


def _named(schema: FactSchema) -> str:
    """Return what an expression may name, in Markdown."""
    types, windows = _words(shingle_type.name for shingle_type in schema.counted), _words(WINDOWS)
    metrics = _words((*METRICS, *DERIVED_METRICS))
    functions = _words(function.signature for function in REFERENCE.values())
    return (
        f"Facts: {_words(fact.name for fact in schema.facts)}\n\n"
        f"Counts: `count[TYPE].WINDOW.METRIC`; TYPE {types}; WINDOW {windows}; METRIC {metrics}\n\n"
        f"Functions: {functions}"
    )


def _words(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
