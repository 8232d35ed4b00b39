"""Calls about entities, counters, signatures and lists as they are declared."""

from __future__ import annotations

import msgspec
import pytest

from oborona.audit.declarations import ACTS
from oborona.cli.command_kinds import KINDS, Ask
from oborona.desk.call import CALLS, ActOrder
from oborona.people.rights import ROLE_RIGHTS, Right, Role
from tests.desk.calling import NAMES

NOUNS = ("reputation", "counters", "signatures", "personal", "lists")
OURS = sorted(name for name in NAMES if name.partition(".")[0] in NOUNS)
STAY = {"counters.compact", "reputation.export", "signatures.export"}
"""Acts of commands that write a file, or stop the writer."""
OF_PAGES = {
    "reputation.export", "reputation.neighbours",
    "signatures.content", "signatures.find", "signatures.pardoned",
}  # fmt: skip
"""Asks that no command makes."""


def test_every_act_and_ask_of_theirs_is_a_call() -> None:
    acts = {name for name in ACTS if name.partition(".")[0] in NOUNS}
    assert acts - STAY == {name for name in OURS if CALLS[name].acts}
    asks = {name for kind in KINDS.values() if isinstance(kind, Ask) for name in kind.calls}
    named = {name for name in asks if name.partition(".")[0] in NOUNS}
    assert named | OF_PAGES == {name for name in OURS if not CALLS[name].acts}


@pytest.mark.parametrize("name", OURS)
def test_a_call_can_be_described(name: str) -> None:
    declared = CALLS[name]
    msgspec.json.schema_components([declared.asked, declared.answer])
    assert issubclass(declared.asked, ActOrder) is declared.acts
    assert declared.scoped is name.startswith("personal.")
    fields = {field.name for field in msgspec.structs.fields(declared.asked)}
    assert {*declared.about, *declared.person} <= fields


@pytest.mark.parametrize("name", OURS)
def test_a_reader_is_told_of_their_own_lists_alone(name: str) -> None:
    may = any(right in ROLE_RIGHTS[Role.READER] for right in CALLS[name].needs)
    assert may is name.startswith("personal.")


@pytest.mark.parametrize(
    ("noun", "right"),
    [
        ("signatures", Right.SIGNATURE),
        ("lists", Right.POLICY_PUBLISH),
        ("counters", Right.SYSTEM),
        ("personal", Right.PERSON),
    ],
)
def test_an_act_needs_its_right(noun: str, right: Right) -> None:
    acts = [CALLS[name] for name in OURS if name.startswith(f"{noun}.") and CALLS[name].acts]
    assert acts
    assert all(right in declared.needs for declared in acts)
