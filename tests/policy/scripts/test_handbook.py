"""What docs/policy/lua.md and the example that ships show is right, and does what they say."""

import re
from pathlib import Path

from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import load_policy
from oborona.policy.scripts import runtime, scripts
from oborona.policy.scripts.answers import MOST_MEMBERS, MOST_OCTETS
from oborona.policy.scripts.source import MAX_BYTES
from tests.policy.scripts.made import judged

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/policy/lua.md").read_text()
NUMBERED, DRINK = re.findall(r"```lua\n(.*?)```", PAGE, re.DOTALL)
SHOPS = frozenset({"shop1.example", "shop22.example", "shop3.example", "other.example"})


def test_the_first_example_finds_numbered_hosts() -> None:
    (hit,) = judged(NUMBERED, links_hosts=SHOPS).hits
    assert (hit.name, hit.score, hit.say) == (
        "LUA_NUMBERED_HOSTS",
        20,
        "numbered hosts: shop#.example",
    )
    found = judged(NUMBERED, links_hosts=frozenset({"a.example", "b.example", "c1.example"}))
    assert not found.hits
    assert not found.problems


def test_the_second_example_finds_a_drink() -> None:
    found = judged(DRINK, subject="free beer")
    assert [(one.name, one.evidence) for one in found.findings] == [
        ("free-drink", "the drink is beer")
    ]
    assert [hit.name for hit in found.hits] == ["LUA_DRINK"]
    assert not judged(DRINK, subject="no drink").hits


def test_the_example_that_ships_is_off_and_right_once_it_is_on(tmp_path: Path) -> None:
    shipped = (ROOT / "etc/policy.d/60-example.lua").read_text()
    assert load_policy(ROOT / "etc/policy.d", SCHEMA).scripts is None
    lines = [line.removeprefix("-- ").removeprefix("--") for line in shipped.splitlines()]
    code = "\n".join(lines[lines.index("oborona.rule {") :])
    (hit,) = judged(code, links_hosts=SHOPS).hits
    assert (hit.name, hit.score) == ("LUA_NUMBERED_HOSTS", 20)


def test_the_limits_are_those_of_the_page() -> None:
    for said in (
        f"| {runtime.STEPS:,} |",
        f"| {runtime.SECONDS} s, {runtime.ALL_SECONDS} s |",
        (
            f"| {runtime.MEMORY >> 20} MiB while they run, {runtime.LOADED >> 20} MiB once "
            f"they are read |"
        ),
        (
            f"| {MAX_BYTES >> 10} KiB; {runtime.LOADING_STEPS // 1_000_000} million steps and "
            f"{runtime.LOADING_SECONDS:g} s to read it |"
        ),
        f"| {runtime.FUNCTIONS:,} |",
        f"A text ends after {MOST_OCTETS >> 10} KiB, a set after {MOST_MEMBERS:,} members",
    ):
        assert said in " ".join(PAGE.split())
    assert (scripts.MOST_FAILURES, scripts.PERIOD) == (10, 100)
    assert "fails on ten of a hundred messages" in " ".join(PAGE.split())


def test_every_name_that_a_script_has_is_on_the_page() -> None:
    for name in re.findall(r'"(\w+)"', (ROOT / "policy/scripts/sandbox.lua").read_text().partition("for _, name in next, {")[2].partition("}")[0]):  # fmt: skip
        assert name in PAGE, name
