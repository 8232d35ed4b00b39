"""The JSON schema knows what the loader knows: what ships is valid, and what the loader refuses by
shape is not.
"""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from oborona.desk.policy.schema_text import schema_text
from oborona.policy.fact_table import SCHEMA
from oborona.policy.file_tables import SINGLE, SORTS
from oborona.toml import hints

ROOT = Path(__file__).parents[2]
DOCUMENT: dict[str, Any] = json.loads(schema_text())
VALIDATOR = Draft202012Validator(DOCUMENT)
FILES = sorted([*ROOT.glob("etc/policy.d/*.toml"), *ROOT.glob("tests/golden/policy.d/*.toml")])


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(DOCUMENT)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_what_ships_is_valid(path: Path) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(tomllib.loads(path.read_text()))] == []


@pytest.mark.parametrize(
    "text",
    [
        "[verdikt]\nspam_score = 100\n",
        "[verdict]\nspam_score = 0\n",
        "[verdict]\nspam = 100\n",
        '[[rule]]\nwhen = "true"\n',
        '[[rule]]\nname = "lower"\n',
        '[[rule]]\nname = "X"\nscore = true\n',
        '[[rule]]\nname = "X"\nscore = 1001\n',
        '[[rule]]\nname = "X"\nmode = "half"\n',
        '[[rule]]\nname = "X"\nstage = "later"\n',
        '[[rule]]\nname = "X"\n[[rule.test]]\nfacts = {}\n',
        '[[rule]]\nname = "X"\n[[rule.test]]\nhit = "yes"\n',
        '[[rule]]\nname = "X"\n[[rule.test]]\nhit = true\nfacts = { "text.words" = "many" }\n',
        '[[rule]]\nname = "X"\n[[rule.test]]\nhit = true\nfacts = { "spf.result" = "failed" }\n',
        (
            '[[rule]]\nname = "X"\n[[rule.test]]\nhit = true\nfacts = { "dkim.results" = '
            '["failed"] }\n'
        ),
        '[[rule]]\nname = "X"\n[[rule.test]]\nhit = true\nfacts = { "model.content" = "no" }\n',
        '[[group]]\nname = "X"\ncap = -1\n',
        "rule = 3\n",
    ],
)
def test_what_the_loader_refuses_by_shape_is_not_valid(text: str) -> None:
    assert list(VALIDATOR.iter_errors(tomllib.loads(text)))


def test_every_table_and_key_is_there() -> None:
    tables = {name: (table, "") for name, table in SINGLE.items()}
    tables |= {sort.key: (sort.schema, "items") for sort in SORTS}
    assert set(DOCUMENT["properties"]) == set(tables)
    for name, (table, within) in tables.items():
        told = DOCUMENT["properties"][name]
        reference = (told[within] if within else told)["$ref"].rpartition("/")[2]
        assert set(DOCUMENT["$defs"][reference]["properties"]) == set(hints(table)), name


def test_conditions_say_what_they_may_name() -> None:
    words = DOCUMENT["$defs"]["RuleTable"]["properties"]["when"]["description"]
    assert all(f"`{fact.name}`" in words for fact in SCHEMA.facts)
    assert "`robotic(count[TYPE])`" in words
