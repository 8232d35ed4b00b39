"""What docs/policy/policy.md says of text in rules holds: each example of it fires on the letter
that it is about, and on no other.
"""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from oborona.errors import PolicyError
from oborona.policy.expression.forms import TextForm
from oborona.policy.fact_table import SCHEMA
from oborona.policy.facts import with_values
from tests.policy.written import compiled, fires, letter

HANDBOOK = Path(__file__).parents[2] / "docs/policy/policy.md"
SECTION = (
    HANDBOOK.read_text(encoding="utf-8").partition("### Text in rules")[2].partition("\n### ")[0]
)
EXAMPLES = [
    line.partition("   #")[0].strip()
    for block in re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
    for line in block.split("\n")
    if line
]

_RUSSIAN = letter(
    text="Ждут вас Казин\u006f и бонус: https://a.example/ ann@a.example",
    subject="Отв: Скидка 20 % всем",
    name="Crypto Desk",
)
RUSSIAN = with_values(
    _RUSSIAN,
    headers=_RUSSIAN.headers | {"list-post"},
    from_domain="news.example.org",
    from_address="Ann@a.example",
)
ENGLISH = with_values(
    letter(text="Your account is LIMITED today.", subject="Re: Привет", name="PayPal Service"),
    text_language="en",
)
PLAIN = with_values(
    letter(text="lunch on friday?", subject="lunch", name="Ann"), from_address="bob@b.example"
)


@pytest.mark.parametrize("when", EXAMPLES)
def test_each_example_of_the_handbook_fires(when: str) -> None:
    assert fires(when, RUSSIAN) or fires(when, ENGLISH)
    assert not fires(when, PLAIN)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 8


def test_words_of_look_alikes_are_latin_words() -> None:
    for word, latin in re.findall(r"`(\w+)` is `(\w+)`", SECTION):
        assert TextForm.FOLDED.whole(word) == latin
        assert fires(f"matches(text, r'\\b{word}\\b')", SimpleNamespace(text=latin))


def test_what_is_said_to_be_refused_is() -> None:
    for pattern in (r"\p{Lu}", r"\p{Cyrillic}", r"\x{200b}", r"x\by"):
        with pytest.raises(PolicyError):
            compiled(f"matches(text, r'{pattern}')")


def test_the_facts_it_names_are_normalised() -> None:
    named = set(re.findall(r"`([a-z.]+)`", SECTION.partition(" are normalised")[0]))
    assert sorted(named) == sorted(
        fact.name for fact in SCHEMA.facts if fact.form is TextForm.FOLDED
    )
