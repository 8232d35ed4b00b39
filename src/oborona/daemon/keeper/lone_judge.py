"""The inspector of one machine while the site's log is away: he judges what waits as he always
does, in a transaction that is taken back, and what he stops is stopped here (`WaitingBlocks`).

    log away    excesses stay in their files → judged → taken back, but for the blocks
    log there   the same excesses are judged for all machines → these blocks are over

So whatever was said of an account on other machines meanwhile, it counts in the end.  Nobody is
told, no hook is called, and persons' orders are refused until then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from oborona.accounts.account import AccountBlock
from oborona.accounts.excess import checked_excesses
from oborona.accounts.excess_runs import ExcessRun, ExcessRuns
from oborona.accounts.excess_spool import lines_behind
from oborona.accounts.incidents.store import INSPECTOR, IncidentStore
from oborona.accounts.waiting_blocks import WaitingBlocks
from oborona.telemetry.log import event

MOST_RUNS: Final = 10_000  # accounts over a limit, some 1 s of work; more wait for the log

log = logging.getLogger("oborona.accounts")


class LoneJudge:
    """Judges what can't be written down; for one thread at a time.

    Args:
        folder: of the spool of excesses.
        accounts: the file of accounts.
    """

    def __init__(self, folder: Path, accounts: Path) -> None:
        self._folder = folder
        self._blocks = WaitingBlocks(accounts)
        self._forget()

    @property
    def waits(self) -> bool:
        """Whether anything was judged that is not written down."""
        return len(self._runs) > 0 or bool(self._blocks.now())

    def judge(self, store: IncidentStore, take: Callable[[ExcessRun], None], now: float) -> None:
        """Judge all that waits, where any of it is new; write nothing but whom it stops.

        Args:
            store: the file of accounts.
            take: has some of them judged, and written to it.
            now: Unix seconds.

        Raises:
            StoreError, OSError: it can't be read, or the blocks not be written.
        """
        if not self._has_read(store):
            return
        before = store.stored_blocks(now)
        with store.tried():
            for run in self._runs:
                take(run)
            after = store.stored_blocks(now)
        known = self._blocks.now()
        stopped = {
            login: _as_it_began(block, known.get(login))
            for login, block in after.items()
            if block.by == INSPECTOR and block != before.get(login)
        }
        for login in sorted(stopped.keys() - known.keys()):
            event(
                log,
                logging.WARNING,
                "an account is stopped on this machine alone until the site's log is there",
                login=login,
                state=stopped[login].state.value,
                why=stopped[login].why,
            )
        self._blocks.put(stopped)

    def over(self) -> None:
        """Forget it all: it was judged for all machines."""
        self._forget()
        self._blocks.put({})

    def _forget(self) -> None:
        self._runs = ExcessRuns()
        self._places: dict[int, int] = {}  # octets that were read, by inode

    def _has_read(self, store: IncidentStore) -> bool:
        """Read what has come; return whether anything has."""
        if len(self._runs) >= MOST_RUNS:
            return False
        any_new = False
        lines = lines_behind(self._folder, self._places, store.judged)
        for excess in checked_excesses(lines, lambda _why: None):  # told when it is judged
            self._runs.add(excess)
            any_new = True
            if len(self._runs) >= MOST_RUNS:
                break
        return any_new


def _as_it_began(block: AccountBlock, known: AccountBlock | None) -> AccountBlock:
    """Return a block without the incident, which is none yet, and with the end that it had."""
    same = known is not None and known.state is block.state
    until = known.until if known is not None and same else block.until
    return msgspec.structs.replace(block, incident=0, until=until)
