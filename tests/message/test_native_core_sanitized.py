"""The native core's tests once more, on one that looks after each octet that it touches."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
TESTS: Final = (
    "message/test_native_core.py",
    "message/test_native_minima.py",
    "counters/test_record_windows.py",
)
_CHECKS: Final = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-Werror", "-Wall", "-Wextra", "-Wconversion", "-Wno-missing-field-initializers")  # fmt: skip
_RUN: Final = """\
import importlib.util, sys
import oborona, pytest
spec = importlib.util.spec_from_file_location("oborona._core", sys.argv[1])
oborona._core = sys.modules["oborona._core"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(oborona._core)
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", "not keeps and not kept", *sys.argv[2:]]))
"""

pytestmark = pytest.mark.slow


def test_no_octet_is_touched_that_is_not_its_own(tmp_path: Path) -> None:
    built = tmp_path / "core.so"
    sources = sorted((ROOT / "src/oborona/core").glob("*.c"))
    headers = f"-I{sysconfig.get_path('include')}"
    words: list[str | Path] = [
        "gcc",
        "-g",
        "-O1",
        *_CHECKS,
        "-fPIC",
        "-shared",
        headers,
        *sources,
        "-o",
        built,
    ]
    subprocess.run(words, check=True, timeout=120)
    found = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], check=True, capture_output=True, text=True
    )
    environment = (
        os.environ
        | {
            "LD_PRELOAD": found.stdout.strip(),
            "ASAN_OPTIONS": "detect_leaks=0",  # Python itself leaves some; leaks have a test of their own
            "PYTHONMALLOC": "malloc",  # each object is a piece of its own
        }
    )
    done = subprocess.run(
        [sys.executable, "-c", _RUN, built, *(ROOT / "tests" / name for name in TESTS)],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "passed" in done.stdout
    assert "skipped" not in done.stdout
