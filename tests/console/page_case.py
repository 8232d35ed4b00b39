"""Pages as tests look at each: a case is a path, who opens it, and what the desk answers.

Cases stand in `tests/console/cases/NAME.py`, in a list `CASES`; every page of GET has one.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from oborona.people.rights import Role


class PageCase(msgspec.Struct, frozen=True, kw_only=True):
    """A page in a state.

    Args:
        name: of the case; no two have the same.
        path: of the page, with its query.
        role: who opens it; None = nobody is signed in.
        answers: of the desk, by call, beside those of `StubDesk`.
        status: of the answer.
        form: what is sent to it by POST; None = it is opened.
        texts: that the page in English shows.
    """

    name: str
    path: str
    role: Role | None = Role.ADMIN
    answers: Mapping[str, Any] = {}
    status: int = 200
    form: Mapping[str, str] | None = None
    texts: tuple[str, ...] = ()


def all_cases() -> list[PageCase]:
    """Return the cases of all files."""
    cases: list[PageCase] = []
    for path in sorted(Path(__file__).with_name("cases").glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"console_cases_{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        cases += module.CASES
    assert len({case.name for case in cases}) == len(cases), "two cases have one name"
    return cases
