"""Without the native core everything is the same: its twins in Python read, hash and count, and the
golden mails get the verdicts, headers and log lines that they have with it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
TESTS: Final = (
    "counters/test_counters_contract.py",
    "counters/test_stored_rows.py",
    "message/test_message_fingerprint.py",
    "message/test_message_headers.py",
    "message/test_message_hypertext.py",
    "message/test_message_own_words.py",
    "message/test_message_templates.py",
    "message/test_message_shingles.py",
    "whole/test_golden.py",
)
# read by each Python that starts, so by each process of a daemon, too
_PRELUDE: Final = "import sys\nsys.modules['oborona._core'] = None\n"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "sitecustomize.py").write_text(_PRELUDE)
    paths = filter(None, (str(tmp_path), os.environ.get("PYTHONPATH", "")))
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}


def run(environment: dict[str, str], *words: str) -> str:
    done = subprocess.run(
        [sys.executable, *words],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_the_twins_are_in_use(environment: dict[str, str]) -> None:
    said = run(
        environment,
        "-c",
        "from oborona.counters import core, record, record_windows, row_order\n"
        "from oborona.message import core as texts, fingerprint, hashing, headers\n"
        "print(hashing.NATIVE, fingerprint.NATIVE, headers.plain_fields,"
        " core.window_totals is record_windows.window_totals,"
        " core.counter_keys is record.counter_keys,"
        " core.reached_counts is row_order.reached_counts,"
        " texts.template_words, texts.Hints)",
    )
    assert said.split() == ["False", "False", "None", "True", "True", "True", "None", "None"]


def test_everything_is_the_same(environment: dict[str, str]) -> None:
    paths = [str(ROOT / "tests" / name) for name in TESTS]
    said = run(
        environment, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *paths
    )
    assert " passed" in said
    assert "skipped" not in said
