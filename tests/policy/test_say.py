"""A rule's words: formats, braces, and what strangers' text may not do to them."""

import math
from typing import Any

import pytest

from oborona.errors import PolicyError
from oborona.policy.expression import MAX_SAID, compile_rules
from oborona.policy.rules import Rule
from oborona.types import Stage
from tests.policy.small_schema import SCHEMA, facts


def said(say: str, **changed: Any) -> str:
    (hit,), errors = compile_rules([Rule(name="X", when="true", say=say, score=1.0)], SCHEMA).run(
        facts(**changed), Stage.CONTENT
    )
    assert errors == []
    return hit.say


@pytest.mark.parametrize(
    ("say", "words"),
    [
        ("", ""),
        ("plain", "plain"),
        ("{{x}} }}{{", "{x} }{"),
        ("{text.words}", "7"),
        ("{count[From].day.seen:,} seen", "1,420 seen"),
        ("{count[From].day.seen:,d} seen", "1,420 seen"),
        ("{text.hidden_share:.0%}", "25%"),
        ("{text.hidden_share:.3f}", "0.250"),
        ("{text.hidden_share}", "0.25"),
        ("{2 / 3}", "0.666667"),
        ("{2 / 3:.2}", "0.67"),
        ("{10000 / 3:,.1f}", "3,333.3"),
        ("{text.hidden_share * 10:d}", "2"),
        ("{1000 * 1000 * 1000:g}", "1e+09"),
        ("{text.words / 0}", "0"),
        ("{subject}", "Free tickets"),
        ("{subject:.4s}!", "Free!"),
        ("{client.listed} {not client.listed:s}", "false true"),
        ("{link.hosts}", "tickets.example.ru, www.example.com"),
        ("{'a:b}c' if text.words != 0 else \"}\"}", "a:b}c"),
        (r"{'it\'s }'}", "it's }"),
        ("{from.domain:.7s}", "example"),
    ],
)
def test_words_are_filled_in(say: str, words: str) -> None:
    assert said(say) == words


@pytest.mark.parametrize(
    ("say", "words"),
    [
        ("{", "never closed"),
        ("{text.words", "never closed"),
        ("}", "a single }"),
        ("{}", "the expression is empty"),
        ("{:d}", "the expression is empty"),
        ("{{text.words}}}", "a single }"),
        ("{text.words:{recipients}}", "braces inside braces"),
        ("{text.words!r}", "write not instead of !"),
        ("{text.words:>10}", "a format is"),
        ("{text.words:010}", "a format is"),
        ("{text.words:x}", "a format is"),
        ("{text.words:,.2x}", "a format is"),
        ("{text.words:.9999f}", "a format is"),
        ("{text.words:.99f}", "at most 9"),
        ("{text.words:.2d}", "d has no decimals"),
        ("{text.words:s}", "a number has no format s"),
        ("{subject:d}", "a text has the format s"),
        ("{subject:,}", "a text has the format s"),
        ("{link.hosts:.2f}", "a set of texts has the format s"),
        ("{(1, 2)}", "a list cannot be shown"),
        ("{subject.__class__}", "unknown fact"),
        ("x" * 1001, "at most 1000"),
    ],
)
def test_a_say_is_refused(say: str, words: str) -> None:
    with pytest.raises(PolicyError) as refused:
        said(say)
    assert words in refused.value.problem


def test_a_fault_is_placed_inside_its_braces() -> None:
    with pytest.raises(PolicyError) as refused:
        said("ab {text.words} {text.wrods}")
    assert refused.value.column == 18


@pytest.mark.parametrize(
    "hostile",
    [
        "a\r\nX-Mras: Ok",
        "a\0b",
        "a\u202eb\u2066c",
        "a\u2028b\x1b[31m",
        "\ud800\udfff",
        "\x85a\u200bb",
    ],
)
def test_peers_text_is_one_printable_line(hostile: str) -> None:
    words = said("<{subject}> {link.hosts}", subject=hostile, link_hosts=frozenset({hostile}))
    assert words.isprintable()
    assert len(words.splitlines()) == 1


def test_an_admins_own_control_characters_are_dropped_too() -> None:
    assert said("a\nb\tc") == "a b c"


def test_long_texts_are_cut() -> None:
    words = said("{subject}{subject}", subject="x" * 1_000_000)
    assert len(words) == MAX_SAID
    assert words.endswith("...")
    assert said("{subject:.999s}", subject="y" * 1_000_000).startswith("y" * 190)
    assert (
        len(said("{link.hosts}", link_hosts=frozenset(f"{number}" for number in range(1000)))) < 60
    )


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_what_is_no_number_is_shown_as_unknown(value: float) -> None:
    assert (
        said(
            "{text.hidden_share:.0%} {text.hidden_share:d} {text.hidden_share}",
            text_hidden_share=value,
        )
        == "? ? ?"
    )
