"""`oborona doctor`: which Python runs, and whether the system has one built to run faster."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from oborona.cli.context import CliContext
from oborona.cli.doctor.report import CheckReport, CheckState

SYSTEM: Final = Path("/usr/bin/python3")
"""What distributions build with profiles and link-time optimisation (ADR 60)."""


def interpreter(_context: CliContext) -> Iterator[CheckReport]:
    """Yield the report on the interpreter."""
    yield interpreter_report(Path(sys.base_prefix), SYSTEM)


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
