"""`oborona doctor`: which Python runs, whether the system has one built to run faster, and whether
the native core was built.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.site import Site
from oborona.message import fingerprint, hashing

SYSTEM: Final = Path("/usr/bin/python3")
"""What distributions build with profiles and link-time optimisation (ADR 60)."""


def interpreter(_context: Site) -> Iterator[CheckReport]:
    """Yield the reports on the interpreter and on the native core."""
    yield interpreter_report(Path(sys.base_prefix), SYSTEM)
    yield native_core_report(built=hashing.NATIVE, with_xxhash=fingerprint.NATIVE)


def interpreter_report(prefix: Path, system: Path) -> CheckReport:
    """Return what there is to say of an interpreter.

    Args:
        prefix: where it is installed.
        system: the system's own.
    """
    words = f"{platform.python_version()} of {prefix}"
    if prefix == system.parent.parent or not system.exists():
        return CheckReport("python", CheckState.OK, words)
    return CheckReport(
        "python",
        CheckState.OK,
        f"{words}, not {system}, by which a message mostly costs a tenth less",
        f"remove .venv and run ./setup again: it takes {system} where that is 3.11 or newer",
    )


def native_core_report(*, built: bool, with_xxhash: bool) -> CheckReport:
    """Return what there is to say of the native core."""
    if built and not with_xxhash:
        return CheckReport(
            "native core",
            CheckState.WARN,
            "built without xxHash: what texts are like is computed in Python, which takes longer",
            "install libxxhash-dev, and run ./setup again (docs/adr/0063-a-native-core.md)",
        )
    if built:
        return CheckReport(
            "native core",
            CheckState.OK,
            "built; it reads header fields and counters, hashes pieces",
        )
    return CheckReport(
        "native core",
        CheckState.WARN,
        "not built: its twins in Python do the same, and take longer",
        "install gcc and python3-dev, and run ./setup again (docs/adr/0063-a-native-core.md)",
    )
