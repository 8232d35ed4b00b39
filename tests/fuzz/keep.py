"""Which inputs are worth keeping: each brings a branch of the code that is measured that none
before it took, the short ones first.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

import coverage

from tests.fuzz.run import MEASURED
from tests.fuzz.targets import TARGETS

CORPUS: Final = Path(__file__).parent / "corpus"
MAX_INPUT: Final = 8 << 10  # octets: what needs more is a matter of size, not of form
MAX_KEPT: Final = 20 << 10  # octets of a target, so that all together stay under 1 MB
MAX_WORK: Final = 2 << 20  # octets of a target in a work folder


class Worth(NamedTuple):
    """Inputs of a target."""

    chosen: list[bytes]  # that together take all branches, the short ones first
    unseen: list[bytes]  # for which there was no time


def kept(target: str) -> list[Path]:
    """Return the inputs kept of a target, in a fixed order."""
    return sorted((CORPUS / target).glob("*"))


def name_of(octets: bytes) -> str:
    """Return the name of an input's file."""
    return hashlib.sha256(octets).hexdigest()[:16]


def worth(target: str, inputs: Iterable[bytes], seconds: float) -> Worth:
    """Return the smallest of some inputs that together take the branches all of them take.

    Args:
        target: whose branches.
        inputs: none of which breaks it.
        seconds: for looking at them.
    """
    holds = TARGETS[target].holds
    seen: set[tuple[str, int, int]] = set()
    found = Worth([], [])
    until = time.monotonic() + seconds
    for octets in sorted(set(inputs), key=lambda each: (len(each), each)):
        if time.monotonic() > until:
            found.unseen.append(octets)
            continue
        # of the standard tracer, which knows arcs; a new one for each input, as data of old ones
        # would mix with it
        tracer = coverage.Coverage(
            branch=True, data_file=None, source_pkgs=[*MEASURED], config_file=False
        )
        with tracer.collect():
            holds(octets)
        data = tracer.get_data()
        taken = {(file, *arc) for file in data.measured_files() for arc in data.arcs(file) or ()}
        if not taken <= seen:
            seen |= taken
            found.chosen.append(octets)
    return found


def keep(target: str, folder: Path, seconds: float) -> int:
    """Cut a work folder's inputs down to those that are worth it, and put the small ones of them
    into the tree; return how many these are.

    Args:
        target: its inputs kept so far are among those to choose from.
        folder: of inputs that fuzzing found.
        seconds: for looking at them; what there was no time for stays in the folder alone.
    """
    before = {file.read_bytes() for file in kept(target)}
    found = worth(target, {*before, *(file.read_bytes() for file in folder.iterdir())}, seconds)
    _write(folder, [*found.chosen, *found.unseen], MAX_WORK)
    in_tree = [
        octets
        for octets in found.chosen + [one for one in found.unseen if one in before]
        if len(octets) <= MAX_INPUT
    ]
    return _write(CORPUS / target, in_tree, MAX_KEPT)


def _write(folder: Path, inputs: list[bytes], most: int) -> int:
    """Make a folder hold these inputs and no others, as far as they have room; return how many."""
    wanted: dict[str, bytes] = {}
    for octets in inputs:
        most -= len(octets)
        if most < 0:
            break
        wanted[name_of(octets)] = octets
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        if file.name not in wanted:
            file.unlink()
    for name, octets in wanted.items():
        if not (folder / name).exists():
            (folder / name).write_bytes(octets)
    return len(wanted)
