"""Benchmarks that look into the house find what they look for."""

from __future__ import annotations

import pytest

from benchmarks.message import STEPS


@pytest.mark.parametrize(
    ("step", "where", "name"), STEPS, ids=[f"{step}: {name}" for step, _, name in STEPS]
)
def test_a_step_is_a_function_that_is_there(step: str, where: object, name: str) -> None:
    assert step
    assert callable(getattr(where, name))
