# ruff: noqa: RUF001 - letters that look alike are the point
"""A pattern for Java finds what the pattern of RE2 finds."""

from __future__ import annotations

import re
from typing import Final

import pytest
import re2

from oborona.eventlog.rules.java_patterns import java_pattern
from oborona.policy.expression.fault import PatternError
from oborona.policy.expression.forms import TextForm
from oborona.policy.expression.patterns import pattern_for
from tests.eventlog.random_expressions import PATTERNS, TEXTS

_CODE: Final = re.compile(r"\\x\{([0-9a-f]+)\}")


def of_python(pattern: str) -> re.Pattern[str]:
    r"""Return a pattern for Java as Python has it: `\x{41}` is `\u0041` here, `\z` is `\Z`."""
    written = _CODE.sub(lambda found: f"\\U{int(found[1], 16):08x}", pattern)
    return re.compile(written.replace(r"\z", r"\Z"))


@pytest.mark.parametrize("text", PATTERNS)
def test_it_finds_what_re2_finds(text: str) -> None:
    asked = pattern_for(text, TextForm.SENT).text
    java = of_python(java_pattern(asked))
    re2_pattern = re2.compile(asked)
    for of in (
        *TEXTS,
        "a\n",
        "\na",
        "b\n\n",
        "a\rb",
        "a\u2028b",
        "\x0b",
        "K",
        "\u212a",
        "ſ",
        "ab c",
    ):
        found = re2_pattern.search(of) is not None
        assert (java.search(of) is not None) is found, of


@pytest.mark.parametrize("text", [r"\p{Greek}", r"[\pN]", r"(?i)\p{Lu}"])
def test_classes_by_name_are_refused(text: str) -> None:
    with pytest.raises(PatternError, match="Spark"):
        java_pattern(text)
