"""A trouble is told once, with its traceback where the fault is ours, and ends nothing else."""

from __future__ import annotations

import pytest

from oborona.errors import StoreError
from oborona.telemetry.trouble import TroubleNotice


def fail(trouble: TroubleNotice, error: Exception | None) -> None:
    with trouble.noted():
        if error is not None:
            raise error


@pytest.mark.parametrize("error", [StoreError("the disk is full"), OSError(28, "no space")])
def test_a_trouble_is_told_when_it_begins_and_ends(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    trouble = TroubleNotice("it stays", "it goes on")
    for _ in range(3):
        fail(trouble, error)
    assert trouble.now == str(error)
    fail(trouble, None)
    fail(trouble, None)
    assert trouble.now == ""
    assert [one.getMessage() for one in caplog.records] == ["it stays", "it goes on"]
    assert all(one.exc_info is None for one in caplog.records)


def test_a_fault_of_ours_is_told_with_its_traceback_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    trouble = TroubleNotice("it stays", "it goes on")
    for _ in range(3):
        fail(trouble, ZeroDivisionError())
    assert trouble.now == "ZeroDivisionError", "one without words, too"
    told = [one.getMessage() for one in caplog.records if one.exc_info]
    assert told == ["fault: it stays"]


def test_what_ends_the_process_is_no_trouble() -> None:
    trouble = TroubleNotice("it stays", "it goes on")
    with pytest.raises(KeyboardInterrupt), trouble.noted():
        raise KeyboardInterrupt
    assert trouble.now == ""
