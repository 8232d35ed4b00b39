"""Which inputs are worth keeping: each brings a branch of the code that is measured that none before it took, the short ones first."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import coverage

from tests.fuzz.run import MEASURED
from tests.fuzz.targets import TARGETS

CORPUS: Final = Path(__file__).parent / "corpus"
MAX_INPUT: Final = 8 << 10  # octets: what needs more is a matter of size, not of form
MAX_KEPT: Final = 40 << 10  # octets of a target, so that all together stay under 1 MB


def kept(target: str) -> list[Path]:
    """Return the inputs kept of a target, in a fixed order."""
    return sorted((CORPUS / target).glob("*"))


def keep(target: str, inputs: Iterable[bytes]) -> int:
    """Write the smallest of some inputs that together take the branches all of them take; return how many.

    Args:
        target: its inputs kept so far are among those to choose from.
        inputs: that fuzzing found.
    """
    everything = {*inputs, *(file.read_bytes() for file in kept(target))}
    holds = TARGETS[target].holds
    seen: set[tuple[str, int, int]] = set()
    chosen: list[bytes] = []
    left = MAX_KEPT
    for octets in sorted(everything, key=lambda each: (len(each), each)):
        if len(octets) > min(left, MAX_INPUT):
            break
        # of the standard tracer, which knows arcs; a new one for each input, as data of old ones would mix with it
        tracer = coverage.Coverage(branch=True, data_file=None, source_pkgs=[*MEASURED], config_file=False)
        with tracer.collect():
            holds(octets)
        data = tracer.get_data()
        taken = {(file, *arc) for file in data.measured_files() for arc in data.arcs(file) or ()}
        if not taken <= seen:
            seen |= taken
            chosen.append(octets)
            left -= len(octets)
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    for file in kept(target):
        file.unlink()
    for octets in chosen:
        (folder / hashlib.sha256(octets).hexdigest()[:16]).write_bytes(octets)
    return len(chosen)
