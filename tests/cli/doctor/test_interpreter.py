"""Which Python runs, and whether the system's own would be the better one."""

from __future__ import annotations

from pathlib import Path

from oborona.desk.doctor.interpreter import interpreter_report, native_core_report
from oborona.desk.doctor.report import CheckState


def test_the_systems_own_needs_no_word(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    system = tmp_path / "bin/python3"
    system.touch()
    report = interpreter_report(tmp_path, system)
    assert (report.state, report.hint) == (CheckState.OK, "")
    assert str(tmp_path) in report.words


def test_another_one_is_told_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    system = tmp_path / "bin/python3"
    assert interpreter_report(Path("/opt/python"), system).hint == ""  # there is no other
    system.touch()
    report = interpreter_report(Path("/opt/python"), system)
    assert (report.state, str(system) in report.words, "./setup" in report.hint) == (
        CheckState.OK,
        True,
        True,
    )


def test_a_native_core_that_was_not_built_is_told() -> None:
    assert native_core_report(built=True, with_xxhash=True).state is CheckState.OK
    report = native_core_report(built=False, with_xxhash=False)
    assert report.state is CheckState.WARN
    assert "python3-dev" in report.hint
    report = native_core_report(built=True, with_xxhash=False)
    assert report.state is CheckState.WARN
    assert "libxxhash-dev" in report.hint
