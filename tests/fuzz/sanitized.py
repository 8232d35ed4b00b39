"""The native core built so that it ends the process at an octet that is not its own and at what C
leaves undefined (ASan, UBSan), and programs that run on it.

    python tests/fuzz/sanitized.py headers --seconds 3600     as tests/fuzz/run.py

Leaks are not looked for: Python itself leaves some.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
_CHECKS: Final = (
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    *("-Werror", "-Wall", "-Wextra", "-Wconversion", "-Wno-missing-field-initializers"),
)
# read by each Python that starts, after what tells where the package lies
_PRELUDE: Final = """\
import importlib.util, sys
import oborona
spec = importlib.util.spec_from_file_location("oborona._core", {built!r})
oborona._core = sys.modules["oborona._core"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(oborona._core)
"""


def build(folder: Path) -> dict[str, str]:
    """Build the core in a folder; return the environment in which each Python uses it.

    Raises:
        subprocess.CalledProcessError: the compiler refuses it; what it said is on the terminal.
    """
    built = folder / "core.so"
    sources = sorted((ROOT / "src/oborona/core").glob("*.c"))
    headers = f"-I{sysconfig.get_path('include')}"
    options = ("-g", "-O1", "-fPIC", "-shared", headers, *_CHECKS)
    subprocess.run(["gcc", *options, *sources, "-o", built], check=True, timeout=120)
    (folder / "sitecustomize.py").write_text(_PRELUDE.format(built=str(built)))
    library = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], check=True, capture_output=True, text=True
    )
    return os.environ | {
        "LD_PRELOAD": library.stdout.strip(),
        "ASAN_OPTIONS": "detect_leaks=0",
        "PYTHONMALLOC": "malloc",  # each object is a piece of its own
        "PYTHONPATH": os.pathsep.join(
            filter(None, (str(folder), os.environ.get("PYTHONPATH", "")))
        ),
    }


def main(arguments: Sequence[str]) -> int:
    """Fuzz on such a core; return how that ended."""
    with tempfile.TemporaryDirectory() as folder:
        environment = build(Path(folder))
        run = [sys.executable, str(ROOT / "tests/fuzz/run.py"), *arguments]
        return subprocess.run(run, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
