"""Traps: which addresses are one, how files name them, and that nobody's address becomes one by
accident.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.errors import PolicyError
from oborona.policy.load import Policy, load_policy
from oborona.policy.load_cache import PolicyCache
from oborona.policy.traps import NO_TRAPS, TrapAction, Traps
from tests.policy.small_schema import SCHEMA

RULE = '[[rule]]\nname = "A"\nwhen = "true"\nscore = 1\n'


def load(folder: Path, text: str, before: PolicyCache | None = None, **files: str) -> Policy:
    (folder / "10.toml").write_text(RULE.replace("true", "sender == 'a'") + text)
    for name, content in files.items():
        (folder / f"{name}.list").write_text(content)
    return load_policy(folder, SCHEMA, before)


TRAPS = Traps(
    ["old@example.test"],
    ["trap.example", ".below.example", "xn--e1afmkfd.example"],
    ["sales-[0-9]{4}@example\\.test"],
)


@pytest.mark.parametrize(
    ("address", "trap"),
    [
        ("old@example.test", True),
        ("OLD@Example.TEST", True),
        ("older@example.test", False),
        ("old+x@example.test", False),
        ("anybody@trap.example", True),
        ("anybody@sub.trap.example", False),
        ("anybody@below.example", True),
        ("anybody@very.far.below.example", True),
        ("anybody@xbelow.example", False),
        ("anybody@пример.example", True),
        ("postmaster@trap.example", False),
        ("Abuse@below.example", False),
        ("sales-2024@example.test", True),
        ("Sales-2024@EXAMPLE.test", True),
        ("sales-20245@example.test", False),
        ("xsales-2024@example.test", False),
        ("", False),
        ("old", False),
        ("@trap.example", False),
        ('"old"@example.test', False),
        ("old@example.test\0", False),
        ("old@[192.0.2.1]", False),
        ("a" * 100_000 + "@trap.example", False),
    ],
)
def test_which_addresses_are_traps(address: str, trap: bool) -> None:
    assert TRAPS.has(address) is trap


def test_an_address_that_is_named_may_be_a_role_s() -> None:
    assert Traps(["postmaster@example.test"]).has("postmaster@example.test")


def test_those_among_recipients_keep_their_form() -> None:
    assert TRAPS.among(["joe@example.test", "Old@example.test", "x@trap.example"]) == (
        "Old@example.test",
        "x@trap.example",
    )
    assert NO_TRAPS.among(["old@example.test"]) == ()


@given(st.text(max_size=60) | st.emails())
def test_what_is_named_is_found_and_nothing_else(address: str) -> None:
    """Of a list of addresses exactly those are traps whose normal form is in it.

    Nothing ever raises.
    """
    assert TRAPS.has(address) in (True, False)
    assert Traps(["old@example.test"]).has(address) is (
        address.strip().lower() == "old@example.test"
    )


def test_files_give_them_together(tmp_path: Path) -> None:
    policy = load(
        tmp_path,
        '[traps]\naddresses = ["Old@Example.test"]\ndomains = [".TRAP.example"]\npatterns = '
        '["x[0-9]+@a\\\\.example"]\n'
        'files = ["more.list"]\nthen = "file"\n',
        more="# pristine\nNew@example.test  # since May\n@whole.example\n.far.example\n\n",
    )
    for one in (
        "old@example.test",
        "a@b.trap.example",
        "x7@a.example",
        "new@example.test",
        "a@whole.example",
        "a@b.far.example",
    ):
        assert policy.trapped.has(one), one
    assert len(policy.trapped) == 6
    assert policy.traps.then is TrapAction.FILE
    assert policy.traps.addresses == ("old@example.test",)
    assert policy.origins["traps.files"].endswith("10.toml:9")


def test_without_a_table_there_are_none(tmp_path: Path) -> None:
    policy = load(tmp_path, "")
    assert not len(policy.trapped)
    assert policy.traps.then is TrapAction.DROP


def test_a_file_that_changes_is_another_policy(tmp_path: Path) -> None:
    before, text = PolicyCache(), '[traps]\nfiles = ["more.list"]\n'
    first = load(tmp_path, text, before, more="a@example.test\n")
    same = load(tmp_path, text, before, more="a@example.test\n")
    assert same.trapped is first.trapped
    assert same.version == first.version
    other = load(tmp_path, text, before, more="b@example.test\n# longer\n")
    assert other.version != first.version
    assert other.trapped.has("b@example.test")
    assert not other.trapped.has("a@example.test")
    with pytest.raises(PolicyError):
        load(tmp_path, text, before, more="half")
    assert load(tmp_path, text, before, more="b@example.test\n# longer\n").trapped.has(
        "b@example.test"
    )


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('addresses = ["old"]', "'old' is no mail address"),
        ('addresses = ["a@b@c.example"]', "is no mail address"),
        ('domains = ["com"]', "'com' is a domain under which everybody is"),
        ('domains = ["."]', "is no domain"),
        ('domains = ["a@b.example"]', "is no domain"),
        ('domains = ["192.0.2.1"]', "is no domain"),
        ('patterns = [".*"]', "'.*' matches everybody's address"),
        ('patterns = ["[^@]+@[a-z.]+"]', "matches everybody's address"),
        ('patterns = ["("]', "missing"),
        ('patterns = ["(?=a)b"]', "invalid perl operator"),
        ('files = ["../traps.list"]', "[traps]: files"),
        ('files = ["missing.list"]', "cannot be read"),
        ('then = "bounce"', "then"),
        ('address = ["a@b.example"]', "unknown"),
    ],
)
def test_what_can_be_no_trap_is_refused_with_its_place(
    tmp_path: Path, table: str, words: str
) -> None:
    with pytest.raises(PolicyError) as refused:
        load(tmp_path, f"[traps]\n{table}\n")
    assert words in str(refused.value)
    assert refused.value.file


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("", 1),
        ("a@example.test", 1),
        ("a@example.test\nnobody\n", 2),
        ("a@example.test\n\nb@\n", 3),
        ("com\n", 1),
    ],
)
def test_a_file_that_can_t_be_used_is_refused_with_its_line(
    tmp_path: Path, content: str, line: int
) -> None:
    with pytest.raises(PolicyError) as refused:
        load(tmp_path, '[traps]\nfiles = ["more.list"]\n', more=content)
    assert refused.value.line == line
    assert refused.value.file.endswith("more.list")


def test_a_file_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "more.list").write_bytes(b"a@example.test\n\xff@b.example\n")
    with pytest.raises(PolicyError, match="UTF-8") as refused:
        load(tmp_path, '[traps]\nfiles = ["more.list"]\n')
    assert refused.value.line == 2
