"""Whose word is whose."""

from __future__ import annotations

import pytest

from oborona.feedback.label import LabelKind
from oborona.feedback.voices import NOBODY, of_person


@pytest.mark.parametrize(
    "name", ["mallory+1@b.example", "mallory+a+b@b.example", "Mallory@B.example"]
)
def test_all_addresses_of_a_mailbox_are_one_voice(name: str) -> None:
    assert of_person(name, LabelKind.SPAM) == of_person("mallory@b.example", LabelKind.SPAM)


def test_others_are_others() -> None:
    names = [
        "mallory@b.example",
        "mallory@c.example",
        "mal@b.example",
        "+x@b.example",
        "mallory",
        "",
    ]
    assert len({of_person(name, LabelKind.SPAM) for name in names}) == len(names)
    assert of_person("", LabelKind.SPAM) == of_person(NOBODY, LabelKind.SPAM)
    assert of_person("a@b.example", LabelKind.SPAM) != of_person("a@b.example", LabelKind.HAM)
