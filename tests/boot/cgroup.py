"""A control group for each machine: its systemd keeps its units in groups below the one it was
started in, and two that share one would end each other's.

Source: cgroups(7), systemd-nspawn(1) on --keep-unit.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Self

EMPTY_S: Final = 10.0  # until the kernel counts a process no longer that has just ended


class ControlGroup:
    """A new group below that of this process, in each hierarchy that systemd uses.

    A context manager.

    Args:
        name: of its own.
    """

    def __init__(self, name: str) -> None:
        self.folders = [folder / name for folder in _own()]

    def __enter__(self) -> Self:
        for folder in self.folders:
            folder.mkdir()
        return self

    def __exit__(self, *_exc: object) -> None:
        until = time.monotonic() + EMPTY_S
        for folder in self.folders:
            for one, _, _ in os.walk(folder, topdown=False):
                while Path(one).exists():
                    try:
                        Path(one).rmdir()
                    except OSError:
                        if time.monotonic() > until:
                            raise
                        time.sleep(0.05)

    def within(self, command: list[str]) -> list[str]:
        """Return a command that runs another one in this group."""
        moves = " && ".join(f"echo $$ >'{folder}/cgroup.procs'" for folder in self.folders)
        return ["sh", "-c", f'{moves} && exec "$@"', "sh", *command]


def _own() -> Iterator[Path]:
    """Return the folders of this process's groups: of version 2, and of version 1 the hierarchy
    that is systemd's.
    """
    groups = dict(_group(line) for line in Path("/proc/self/cgroup").read_text().splitlines())
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields, _, kind = line.partition(" - ")
        words = fields.split()
        what, _, options = kind.split(" ", 2)
        name = "" if what == "cgroup2" else "name=systemd"
        if what == "cgroup2" or (what == "cgroup" and "name=systemd" in options.split(",")):
            yield Path(words[4]) / os.path.relpath(groups[name], words[3])


def _group(line: str) -> tuple[str, str]:
    _, controllers, path = line.split(":", 2)
    return controllers, path
