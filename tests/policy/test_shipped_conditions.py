"""Conditions that ask the same of two addresses: the language has no name for a list of domains, so
theirs stand twice, and must be the same.
"""

from __future__ import annotations

import re

import pytest

from tests.policy.shipped import shipped

WHEN = {condition.name: condition.when for condition in shipped().conditions}


@pytest.mark.parametrize(
    ("name", "fact", "other", "other_fact"),
    [
        ("FROM_FREEMAIL", "from.domain", "REPLY_TO_FREEMAIL", "reply_to.domain"),
        ("FROM_CHEAP_ENDING", "from.domain", "LINK_CHEAP_ENDING", "links.domains"),
    ],
)
def test_what_is_asked_of_two_addresses_is_the_same(
    name: str, fact: str, other: str, other_fact: str
) -> None:
    assert WHEN[name].count(fact) == 1
    assert WHEN[name].replace(fact, other_fact) == WHEN[other]


def test_large_freemail_is_freemail() -> None:
    large, all_of_them = (
        set(re.findall(r"'([\w.-]+)'", WHEN[name]))
        for name in ("FROM_LARGE_FREEMAIL", "FROM_FREEMAIL")
    )
    assert "gmail.com" in large
    assert large <= all_of_them
