"""PySpark in a Java of this machine: `pip install --group spark`, `apt install
openjdk-17-jre-headless`.
"""

from __future__ import annotations

import fcntl
import importlib
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

JAVA = "openjdk-17-jre-headless"
PYSPARK = "pyspark>=4.0,<4.1"


def install_spark() -> None:
    """Install what is missing, one process at a time; skip the test where that can't be had.

    Source: what the group `spark` of pyproject.toml asks for.
    """
    with (Path(sys.prefix) / ".pyspark.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        importlib.invalidate_caches()  # another process may have installed it just now
        _install()


def _install() -> None:
    steps = []
    if find_spec("pyspark") is None:
        steps.append([sys.executable, "-m", "pip", "install", "--quiet", PYSPARK])
    if shutil.which("java") is None:
        steps.append(["apt-get", "install", "--yes", "--no-install-recommends", JAVA])
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False, timeout=900)
        if done.returncode:
            pytest.skip(f"{' '.join(step)}: {done.stderr.strip()[-300:]}")
