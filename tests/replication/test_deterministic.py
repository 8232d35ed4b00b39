"""SQL of common stores gives the same on every machine: it asks for neither time nor chance."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2] / "src/oborona"
FOLDERS = (
    "stores/persons",
    "stores/pins",
    "stores/signatures",
    "people",
    "feedback",
    "accounts/store",
    "accounts/incidents",
    "recheck",
)
ASKS = re.compile(
    r"(?<!\.)\b(random|randomblob|unixepoch|julianday|strftime|datetime)\s*\(\s*('|\)|\d)|'now'"
    r"|\bCURRENT_(TIME|DATE|TIMESTAMP)\b|(?<![.\w])(total_)?changes\(\)|last_insert_rowid\(\)",
    re.IGNORECASE,
)


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_statement_asks_for_time_or_chance(folder: str) -> None:
    modules = sorted((ROOT / folder).glob("**/*.py"))
    assert modules
    found = {path.name: match[0] for path in modules if (match := ASKS.search(path.read_text()))}
    assert not found


@pytest.mark.parametrize(
    "sql",
    ["SELECT random()", "VALUES (datetime('now'))", "SET at = unixepoch()", "DEFAULT CURRENT_TIME"],
)
def test_what_asks_is_found(sql: str) -> None:
    assert ASKS.search(sql)
