"""The native core's tests once more, on one that looks after each octet that it touches."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.fuzz.sanitized import ROOT, build

TESTS: Final = (
    "tests/message/test_native_core.py",
    "tests/message/test_native_fields.py",
    "tests/message/test_native_minima.py",
    "tests/message/test_native_text.py",
    "tests/counters/test_record_windows.py",
    "tests/journal/words/test_slices.py",
    "tests/counters/test_row_order.py",
    "tests/fuzz/test_fuzz_corpus.py::test_what_must_hold_holds[headers]",
    "tests/fuzz/test_fuzz_corpus.py::test_what_must_hold_holds[message]",
    "tests/fuzz/test_fuzz_corpus.py::test_what_must_hold_holds[page]",
    "tests/fuzz/test_fuzz_corpus.py::test_what_must_hold_holds[passes]",
)
# -s: what the sanitizers say is lost with a process whose pytest has its standard error
_PLAIN: Final = (
    *("-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist"),
    *("-k", "not keeps and not kept"),
)
_WHICH: Final = "import oborona._core; print(oborona._core.__file__)"

pytestmark = pytest.mark.slow


def test_no_octet_is_touched_that_is_not_its_own(tmp_path: Path) -> None:
    environment = build(tmp_path)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            env=environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )

    assert run("-c", _WHICH).stdout.strip() == str(tmp_path / "core.so")
    done = run("-m", "pytest", *_PLAIN, *TESTS)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "passed" in done.stdout
    assert "skipped" not in done.stdout
