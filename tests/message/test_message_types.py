"""Every type of shingle by its cases: what is normalised away, what must stay different, what is
too little to count.
"""

from __future__ import annotations

from importlib import import_module
from itertools import combinations
from pathlib import Path

import pytest

from oborona.message.shingles import TYPES, ShingleType
from tests.message.types.case import Case, of

MODULES = {
    path.stem: import_module(f"tests.message.types.{path.stem}")
    for path in sorted((Path(__file__).parent / "types").glob("*.py"))
    if path.stem != "case"
}
CASES: dict[ShingleType, Case] = {
    kind: case for module in MODULES.values() for kind, case in module.CASES.items()
}
OF_FLOWS = {ShingleType.FLOW_DESTINATION, ShingleType.FLOW_DESTINATIONS}  # no message makes them
each_type = pytest.mark.parametrize("kind", CASES, ids=lambda kind: kind.name.lower())


def test_every_type_has_its_cases_once() -> None:
    assert {kind for kind in TYPES if kind not in CASES} == OF_FLOWS
    assert sum(len(module.CASES) for module in MODULES.values()) == len(CASES)


@each_type
def test_what_is_normalised_away_makes_no_difference(kind: ShingleType) -> None:
    first, *others = (of(kind, pieces) for pieces in CASES[kind].same)
    assert first
    assert others
    for other in others:
        assert other == first


@each_type
def test_what_must_stay_different_does(kind: ShingleType) -> None:
    found = [of(kind, pieces) for pieces in CASES[kind].differ]
    assert len(found) > 1
    assert all(found)
    for one, other in combinations(found, 2):
        assert not one & other


@each_type
def test_too_little_is_not_counted(kind: ShingleType) -> None:
    assert CASES[kind].none
    for pieces in CASES[kind].none:
        assert not of(kind, pieces)
