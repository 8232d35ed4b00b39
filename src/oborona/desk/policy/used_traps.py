"""Traps that somebody uses after all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from oborona import state_files
from oborona.errors import StoreError
from oborona.feedback.events.log import EventLog
from oborona.policy.traps import Traps
from oborona.stores.persons.store import PersonStore

MOST_TOLD: Final = 20  # traps; who has more of them has named a domain of people
SAID: Final = "SELECT DISTINCT person FROM event WHERE person <> ''"  # complaints, pardons, reads


def traps_in_use(traps: Traps, state: Path) -> Iterator[str]:
    """Yield a warning for each trap that somebody uses: who writes mail, keeps lists, reads or
    judges what comes there.

    Args:
        traps: of the policy.
        state: folder of the stores; what can't be read there warns of nothing.
    """
    if not len(traps):
        return
    in_use = {
        **dict.fromkeys(
            _traps_that_reported(traps, state),
            "somebody reads mail there, or has said what is spam",
        ),
        **dict.fromkeys(
            _traps_with_profiles(traps, state),
            "somebody writes mail from it, or has lists of their own",
        ),
    }
    for address in sorted(in_use)[:MOST_TOLD]:
        yield f"{address} is a trap, and {in_use[address]}"
    if len(in_use) > MOST_TOLD:
        yield f"{len(in_use) - MOST_TOLD} more traps are in use"


def _traps_with_profiles(traps: Traps, state: Path) -> tuple[str, ...]:
    try:
        with PersonStore(state / state_files.PERSONS, make=False) as store:
            return traps.among(store.persons())
    except StoreError:
        return ()


def _traps_that_reported(traps: Traps, state: Path) -> tuple[str, ...]:
    try:
        with EventLog(state / state_files.EVENTS, make=False) as log:
            return traps.among(person for (person,) in log.rows(SAID))
    except StoreError:
        return ()
