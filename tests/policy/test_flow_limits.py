"""The `[[flow_limit]]` tables: what they may say, and what their expressions give."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from oborona.errors import PolicyError
from oborona.policy.fact_table import SCHEMA
from oborona.policy.flow_limit_table import MAX_FLOW_LIMITS, FlowCount, FlowLimitTable, FlowSubject
from oborona.policy.flow_limits import FLOW_FACTS, FlowFacts, FlowLimit
from oborona.policy.load import load_policy
from oborona.toml import hints

ROOT: Final = Path(__file__).parents[2]
TABLE: Final = """
[[flow_limit]]
name = "FLOW_REFUSED"
each = "customer"
count = "refused"
window = "hour"
limit = "max(200, 0.5 * streams)"
unless = "trusted or in_networks(address, ('192.0.2.25/32',))"
mode = "shadow"
"""
REST: Final = "each = 'address'\ncount = 'streams'\nwindow = 'day'"


def flow_limits(folder: Path, text: str = TABLE) -> tuple[FlowLimit, ...]:
    (folder / "90-local.toml").write_text(text, "utf-8")
    return load_policy(folder, SCHEMA).flow_limits


def test_a_table_becomes_a_limit(tmp_path: Path) -> None:
    (limit,) = flow_limits(tmp_path)
    assert (limit.each, limit.count, limit.window) == (
        FlowSubject.CUSTOMER,
        FlowCount.REFUSED,
        "hour",
    )
    assert limit.shadow
    assert [limit.most(FlowFacts(streams=streams)) for streams in (0.0, 1000.0)] == [200, 500]
    assert limit.excused(FlowFacts(trusted=True))
    assert limit.excused(FlowFacts(address="192.0.2.25"))
    assert not limit.excused(FlowFacts(address="192.0.2.26", trusted=False))
    assert not limit.excused(FlowFacts())


def test_those_that_ship_are_in_shadow() -> None:
    shipped = load_policy(ROOT / "etc/policy.d", SCHEMA).flow_limits
    assert [limit.name for limit in shipped] == [
        "FLOW_STREAMS",
        "FLOW_DESTINATIONS",
        "FLOW_REFUSED",
        "FLOW_CUSTOMER",
    ]
    assert all(limit.shadow for limit in shipped)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("limit = 0", "limit"),
        ("limit = 'streams'", "floor"),
        ("limit = 'usual'", "unknown fact usual"),
        ("limit = 'max(1, )'", "flow limit A: limit:"),
        ("limit = 1\nunless = 'login'", "flow limit A: unless:"),
        ("limit = 1\neach = 'account'", "each"),
        ("limit = 1\ncount = 'recipients'", "count"),
        ("limit = 1\nwindow = 'fortnight'", "window"),
        ("limit = 1\nthen = 'refuse'", "then"),
        ("limit = nan", "limit"),
        ("", "limit is missing"),
    ],
)
def test_broken_tables_are_told(text: str, says: str, tmp_path: Path) -> None:
    given = [line.split(" = ")[0] for line in text.splitlines()]
    rest = "\n".join(line for line in REST.splitlines() if line.split(" = ")[0] not in given)
    with pytest.raises(PolicyError, match=says):
        flow_limits(tmp_path, f"[[flow_limit]]\nname = 'A'\n{text}\n{rest}\n")


def test_there_is_a_most_and_a_name_is_one_tables(tmp_path: Path) -> None:
    many = "".join(
        f"[[flow_limit]]\nname = 'A{number}'\nlimit = 1\n{REST}\n"
        for number in range(MAX_FLOW_LIMITS + 1)
    )
    with pytest.raises(PolicyError, match=f"more than {MAX_FLOW_LIMITS} flow limits"):
        flow_limits(tmp_path, many)


def test_a_later_file_changes_what_it_names_and_the_version_is_another(tmp_path: Path) -> None:
    (tmp_path / "62-flows.toml").write_text(TABLE, "utf-8")
    before = load_policy(tmp_path, SCHEMA).version
    (limit,) = flow_limits(tmp_path, "[[flow_limit]]\nname = 'FLOW_REFUSED'\nmode = 'live'\n")
    assert not limit.shadow
    assert limit.each is FlowSubject.CUSTOMER
    assert load_policy(tmp_path, SCHEMA).version != before
    off = "[[flow_limit]]\nname = 'FLOW_REFUSED'\nenabled = false\n"
    assert flow_limits(tmp_path, off) == ()


def test_editors_are_told_what_a_formula_may_name() -> None:
    (described,) = (
        str(part.__metadata__)
        for part in hints(FlowLimitTable)["limit"].__args__
        if "formula" in str(getattr(part, "__metadata__", ""))
    )
    assert [fact.name for fact in FLOW_FACTS if fact.name not in described] == []
