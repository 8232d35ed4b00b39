"""The `[[limit]]` tables: what they may say, and what their expressions give."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from oborona.errors import PolicyError
from oborona.policy.fact_table import SCHEMA
from oborona.policy.limit_table import MAX_LIMITS, LimitAction, LimitCount, LimitSubject, LimitTable
from oborona.policy.limits import COUNTED_FOR, LIMIT_FACTS, Limit, LimitFacts
from oborona.policy.load import load_policy
from oborona.toml import hints
from oborona.types import RuleMode

TABLE: Final = """
[[limit]]
name = "HOURLY_RECIPIENTS"
each = "account"
count = "recipients"
window = "hour"
limit = "max(200, 5 * usual)"
then = "hold"
unless = "login == 'news@firm.example' or in_networks(client.ip, ('192.0.2.0/24',))"
mode = "shadow"
"""
REST: Final = "each = 'account'\ncount = 'messages'\nwindow = 'day'\nthen = 'alert'"


def limits(folder: Path, text: str = TABLE) -> tuple[Limit, ...]:
    (folder / "90-local.toml").write_text(text, "utf-8")
    return load_policy(folder, SCHEMA).limits


def test_a_table_becomes_a_limit(tmp_path: Path) -> None:
    (limit,) = limits(tmp_path)
    assert (limit.each, limit.count, limit.window, limit.then, limit.mode) == (
        LimitSubject.ACCOUNT,
        LimitCount.RECIPIENTS,
        "hour",
        LimitAction.HOLD,
        RuleMode.SHADOW,
    )
    assert limit.shadow
    assert limit.asks_past
    assert [limit.most(LimitFacts(usual=usual)) for usual in (0.0, 40.0, 100.0)] == [200, 200, 500]
    assert limit.excused(LimitFacts(login="news@firm.example"))
    assert limit.excused(LimitFacts(client_ip="192.0.2.9"))
    assert not limit.excused(LimitFacts(login="ann@firm.example", client_ip="198.51.100.1"))


def test_formulas_name_the_account(tmp_path: Path) -> None:
    formula = "200 if trusted or (rating >= 70 and age > 30) else 50"
    text = f"[[limit]]\nname = 'A'\nlimit = '{formula}'\nunless = \"customer == 'firm'\"\n{REST}\n"
    (limit,) = limits(tmp_path, text)
    assert not limit.asks_past
    assert limit.most(LimitFacts()) == 50
    assert limit.most(LimitFacts(trusted=True)) == 200
    assert limit.most(LimitFacts(trusted=False, rating=90, age=31.0)) == 200
    assert limit.most(LimitFacts(rating=90)) == 50
    assert limit.excused(LimitFacts(customer="firm"))
    assert not limit.excused(LimitFacts())


def test_a_number_asks_for_no_past(tmp_path: Path) -> None:
    (limit,) = limits(tmp_path, f"[[limit]]\nname = 'A'\nlimit = 30\n{REST}\n")
    assert limit.most(LimitFacts()) == 30
    assert not limit.excused(LimitFacts())
    assert not limit.asks_past
    (aged,) = limits(tmp_path, f"[[limit]]\nname = 'A'\nlimit = '1 + age_days'\n{REST}\n")
    assert aged.asks_past


def test_every_fact_can_be_named(tmp_path: Path) -> None:
    formula = (
        "10 + recipients + usual + age_days"
        " + (login == 'a') + (domain == 'b') + (client.ip == 'c') + (sender == 'd')"
    )
    (limit,) = limits(tmp_path, f'[[limit]]\nname = "A"\nlimit = "{formula}"\n{REST}\n')
    facts = LimitFacts(
        login="a", domain="b", client_ip="c", sender="d", recipients=100, usual=1000, age_days=7
    )
    assert limit.most(facts) == 1121


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("limit = '5 * usual'", "who has no past, or is not known, could send"),
        ("limit = '0'", "who has no past, or is not known, could send"),
        ("limit = '10 / age_days'", "who has no past, or is not known, could send"),
        ("limit = '-1'", "who has no past"),
        ("limit = -1", "limit"),
        ("limit = nan", "limit"),
        ("limit = 1e13", "limit"),
        ("limit = true", "limit"),
        ("limit = 'login'", "a number"),
        ("limit = 'karma'", "unknown fact karma"),
        ("limit = '10 * age'", "floor"),
        ("limit = 'max(1, rating)'", "not known, could"),
        ("limit = 'count[Account].day.seen'", "unknown shingle type"),
        ("limit = 'max(200, 5 * usul)'", "unknown fact usul; did you mean usual"),
        ("limit = 'max(200,'", "limit A: limit:"),
        (f"limit = '{'1+' * 900}1'", "limit A: limit:"),
        (f"limit = '1{' ' * 2_000}'", "limit"),
        ("limit = '__import__(1)'", "unknown function"),
        ("limit = '(1).__class__'", "limit A: limit:"),
        ("limit = 1\nunless = 'usual'", "condition"),
        ("limit = 1\nunless = 'fired(X)'", "limit A: unless:"),
        ("limit = 1\nunless = \"found('hidden-text')\"", "limit A: unless:"),
        ("limit = 1\neach = 'person'", "each"),
        ("limit = 1\ncount = 'letters'", "count"),
        ("limit = 1\nwindow = 'week'", "window"),
        ("limit = 1\nthen = 'slow'", "then"),
        ("limit = 1\nmode = 'half'", "mode"),
        ("limit = 1\nsay = '100 %'", "say"),
        ('limit = 1\nsay = "a\\r\\n250 ok"', "say"),
        ("limit = 1\ntell = ['duty']", "tell"),
        ("limit = 1\neach = 'domain'\ncount = 'spam'", "counted by account or address only"),
        ("limit = 1\neach = 'all'\ncount = 'addresses'", "counted by account only"),
        ("", "limit is missing"),
    ],
)
def test_broken_tables_are_told_with_their_place(text: str, says: str, tmp_path: Path) -> None:
    given = [line.split(" = ")[0] for line in text.splitlines()]
    rest = "\n".join(line for line in REST.splitlines() if line.split(" = ")[0] not in given)
    with pytest.raises(PolicyError, match=says) as told:
        limits(tmp_path, f"[[limit]]\nname = 'A'\n{text}\n{rest}\n")
    assert "90-local.toml" in str(told.value)


@pytest.mark.parametrize("missing", ["each", "count", "window", "limit", "then"])
def test_what_a_limit_needs(missing: str, tmp_path: Path) -> None:
    rest = "\n".join(
        line for line in f"{REST}\nlimit = 1".splitlines() if not line.startswith(missing)
    )
    with pytest.raises(PolicyError, match=f"{missing} is missing"):
        limits(tmp_path, f"[[limit]]\nname = 'A'\n{rest}\n")


def test_a_fault_is_told_at_its_character(tmp_path: Path) -> None:
    with pytest.raises(PolicyError) as told:
        limits(tmp_path, f"[[limit]]\nname = 'A'\nlimit = 'max(200, 5 * usul)'\n{REST}\n")
    assert (told.value.line, told.value.column) == (3, 23)


def test_a_later_file_changes_or_removes_a_limit(tmp_path: Path) -> None:
    (tmp_path / "60-outgoing.toml").write_text(TABLE, "utf-8")
    (limit,) = limits(tmp_path, "[[limit]]\nname = 'HOURLY_RECIPIENTS'\nlimit = 900\nmode='live'\n")
    assert limit.most(LimitFacts(usual=10_000)) == 900
    assert not limit.shadow
    assert limit.unless
    off = "[[limit]]\nname = 'HOURLY_RECIPIENTS'\nenabled = false\n"
    assert limits(tmp_path, off) == ()


def test_there_are_not_too_many(tmp_path: Path) -> None:
    tables = "".join(
        f"[[limit]]\nname = 'A{number}'\nlimit = 1\n{REST}\n" for number in range(MAX_LIMITS + 1)
    )
    with pytest.raises(PolicyError, match=f"more than {MAX_LIMITS} limits"):
        limits(tmp_path, tables)


def test_a_limit_is_part_of_a_policys_version(tmp_path: Path) -> None:
    versions = []
    for text in (TABLE, TABLE.replace("5 *", "5  *"), TABLE.replace("5 *", "6 *"), "# none\n"):
        (tmp_path / "90-local.toml").write_text(text, "utf-8")
        versions.append(load_policy(tmp_path, SCHEMA).version)
    assert versions[0] == versions[1]
    assert len(set(versions)) == 3


def test_everything_that_can_be_counted_is_counted_for_somebody() -> None:
    assert set(COUNTED_FOR) == set(LimitCount)
    assert all(COUNTED_FOR.values())


def test_editors_are_told_what_a_formula_may_name() -> None:
    (described,) = (
        str(part.__metadata__)
        for part in hints(LimitTable)["limit"].__args__
        if "formula" in str(getattr(part, "__metadata__", ""))
    )
    assert [fact.name for fact in LIMIT_FACTS if fact.name not in described] == []
