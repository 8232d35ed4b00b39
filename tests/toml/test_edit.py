"""Values set in a TOML text: all else stays as it was written."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from oborona.errors import ConfigError
from oborona.toml.edit import TomlText, toml_value

TEXT = b'''# head
[verdict]   # lines
spam_score = 100.0 # from here on

[[rule]]   # the first
# its words
name = "A" # n
when = """a
b"""
score = 1

[[rule.test]]
hit = true

# of B
[[rule]]
name = "B"
score = [1,
 2] # t
'''


def test_a_value_is_changed_and_every_comment_stays() -> None:
    text = TomlText(TEXT)
    text.set_field("verdict", "spam_score", 90.5)
    text.set_named("rule", "A", {"when": "x"})
    text.set_named("rule", "B", {"score": 45.0})
    expected = TEXT.replace(b"100.0", b"90.5").replace(b'"""a\nb"""', b'"x"')
    assert text.raw == expected.replace(b"[1,\n 2]", b"45")


def test_new_values_tables_and_tests_come_where_people_would_write_them() -> None:
    text = TomlText(TEXT)
    text.set_field("verdict", "refuse", False)
    text.set_named("rule", "A", {"mode": "shadow"})
    text.add_table("rule", "A", "test", {"facts": {"text.words": 3}, "hit": False})
    text.set_named("rule", "C", {"score": 2.0})
    raw = text.raw.decode()
    assert "[verdict]   # lines\nrefuse = false\nspam_score" in raw
    assert 'name = "A" # n\nmode = "shadow"\nwhen' in raw
    assert 'facts = { "text.words" = 3 }\nhit = false\n\n# of B\n[[rule]]\n' in raw
    assert raw.endswith('\n\n[[rule]]\nname = "C"\nscore = 2\n')
    assert [rule["name"] for rule in tomllib.loads(raw)["rule"]] == ["A", "B", "C"]


@pytest.mark.parametrize(
    "value",
    [
        "",
        'a"b\\c\x7f\x00\t',
        "two\nlines",
        "ends in '\n'",
        "'''\n\"\"\"",
        "\n",
        "a\r\nb",
        1.5,
        -1e300,
        7,
        True,
        ["x" * 60, "y" * 60, 'z"'],
        {"a.b": {"c": [1, 2]}, "d": "\u2028"},
    ],
)
def test_whatever_is_written_is_read_again(value: Any) -> None:
    assert tomllib.loads(f"k = {toml_value(value)}")["k"] == value
    text = TomlText(b"")
    text.set_named("rule", 'odd " name', {"odd key": value})
    assert tomllib.loads(text.raw.decode())["rule"] == [{"name": 'odd " name', "odd key": value}]


def test_line_ends_of_windows_stay() -> None:
    text = TomlText(TEXT.replace(b"\n", b"\r\n"))
    text.set_field("verdict", "spam_score", 80)
    assert text.raw == TEXT.replace(b"100.0", b"80").replace(b"\n", b"\r\n")


@pytest.mark.parametrize(
    "raw",
    [
        b'rule = [{ name = "A", score = 1 }]\n',
        b'rule = { name = "A" }\n',
        b"rule = 3\n",
        b"rule = [3, 4]\n",
    ],
)
def test_what_is_written_in_one_line_is_refused_or_left(raw: bytes) -> None:
    text = TomlText(raw)
    with pytest.raises(ConfigError):
        text.set_named("rule", "A", {"say": "x"})
    assert text.raw == raw


def test_what_is_no_toml_or_no_unicode_is_refused() -> None:
    for raw in (b"[[", b"\xff", b"\xef\xbb\xbfa = 1\n", b"a = " + b"[" * 5000):
        with pytest.raises(ConfigError):
            TomlText(raw)
    with pytest.raises(ConfigError):
        toml_value("\ud800")
    with pytest.raises(ConfigError):
        toml_value(None)
