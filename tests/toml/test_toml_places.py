"""Places of keys and values: the scanner agrees with the standard library's parser on every text
that it accepts.
"""

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.errors import ConfigError
from oborona.toml import TomlDocument, parse

TEXT = '''\
# comment [not.a.table]
a.b = 1
"q.x" = { y = "z", w = [1, "t\\n\\u0041x"] }
[[rule]]
name = "A"
when = """
  foo \\
    bar
"quoted" ""x"""""
[[rule]]
name = 'B # no comment'
[rule.sub]
k = 1979-05-27 07:32:00 # comment
l = [
  "a", # , ]
  [1, [2]], {x = {}},
]
long = \'\'\'
[not.a.table]
'' it's\'\'\'
'''


@pytest.mark.parametrize(
    ("path", "line", "column"),
    [
        (("a", "b"), 2, 7),
        (("q.x",), 3, 9),
        (("q.x", "y"), 3, 15),
        (("q.x", "w", 1), 3, 28),
        (("rule", 0, "name"), 5, 8),
        (("rule", 0, "when"), 6, 8),
        (("rule", 1, "name"), 11, 8),
        (("rule", 1, "sub", "k"), 13, 5),
        (("rule", 1, "sub", "l", 1, 1, 0), 16, 8),
        (("rule", 1, "sub", "l", 2, "x"), 16, 18),
        (("rule", 1, "sub", "long"), 18, 8),
    ],
)
def test_values_have_their_place(path: tuple[str | int, ...], line: int, column: int) -> None:
    place = parse(TEXT.encode(), "f.toml").value(*path)
    assert (place.file, place.line, place.column) == ("f.toml", line, column)


def test_keys_and_tables_have_their_place() -> None:
    document = parse(TEXT.encode())
    assert document.key("rule", 1).line == 10
    assert document.key("rule", 1, "sub").line == 12
    assert document.key("rule", 1, "sub", "missing").line == 12  # the nearest that has one
    assert document.key("missing").line == 0


def test_places_inside_a_text_follow_line_ends_and_escapes() -> None:
    document = parse(TEXT.encode())
    text = document.data["rule"][0]["when"]
    place = document.value("rule", 0, "when")
    where = {word: place.inside(text.index(word)) for word in ("foo", "bar", "quoted", "x")}
    assert {word: (at.line, at.column) for word, at in where.items()} == {
        "foo": (7, 3),
        "bar": (8, 5),
        "quoted": (9, 2),
        "x": (9, 12),
    }
    escaped = document.value("q.x", "w", 1)
    assert [escaped.inside(index).column for index in range(5)] == [29, 30, 32, 38, 39]
    assert escaped.inside(10**9).column == 39
    assert document.value("a", "b").inside(5) == document.value("a", "b")  # not a text


def test_line_ends_of_windows_count_once() -> None:
    document = parse(b"a = 1\r\n\r\nb = 2\r\n")
    assert document.value("b").line == 3


def paths(value: Any, path: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    """Return the path of everything that is neither a table nor an array of tables."""
    if isinstance(value, dict):
        return {found for key, inner in value.items() for found in paths(inner, (*path, key))}
    found = {path}
    if isinstance(value, list):
        found |= {
            deep for index, inner in enumerate(value) for deep in paths(inner, (*path, index))
        }
    return found


def holds(document: TomlDocument) -> None:
    """Assert the scanner's invariant: it finds what tomllib finds, and each text decodes to the
    value at its place.
    """
    known = set(document.keys) | set(document.values)
    assert paths(document.data) <= known
    for path, place in document.values.items():
        value: Any = document.data
        for step in path:
            value = value[step]
        assert bool(place.token) == isinstance(value, str)
        if place.token:
            assert tomllib.loads(f"k = {place.token}")["k"] == value


PIECES = st.sampled_from(
    [
        "\n", "\r\n", " ", "#", "=", ".", ",", "[", "]", "[[", "]]", "{", "}", '"', "'", '"""', "'''", "\\", "\\u00e9", "\\\n",
        "a", "b-1", "rule", "é", "1", "-0.5", "inf", "true", "0xff", "1979-05-27 07:32:00", "a = ", "[t]\n", "[[t]]\n", "b.c = 'x'\n",
        'k = """\n', "x = [1, 'y']\n", "z = {p = 1}\n",
    ]
)  # fmt: skip


@given(st.lists(PIECES, max_size=25).map("".join))
def test_any_text_is_placed_as_it_is_parsed_or_refused(text: str) -> None:
    try:
        document = parse(text.encode())
    except ConfigError:
        return
    assert document.data == tomllib.loads(text)
    holds(document)


@given(
    st.dictionaries(
        st.text("ab.\"' é\\", max_size=4),
        st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8),
        max_size=4,
    )
)
def test_any_quoted_keys_and_texts_are_found(data: dict[str, str]) -> None:
    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    document = parse(
        "".join(f"{quoted(key)}={quoted(value)}\n" for key, value in data.items()).encode()
    )
    assert document.data == data
    holds(document)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_document_or_refused(raw: bytes) -> None:
    try:
        document = parse(raw, "f.toml")
    except ConfigError:
        return
    holds(document)


@pytest.mark.parametrize("text", ["a = " + "[" * 5000, "a = " + "{b=" * 5000, "a = " + "9" * 5000])
def test_what_breaks_the_parser_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"nested too deeply|broken TOML"):
        parse(text.encode())


def test_a_deep_document_that_the_parser_takes_is_placed() -> None:
    document = parse(("a = " + "[" * 100 + "1" + "]" * 100).encode())
    assert document.values[("a", *[0] * 100)].column == 105
