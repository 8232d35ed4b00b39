"""Whoever is killed while machines judge, and whatever becomes of PostgreSQL meanwhile: each excess
is judged once, an account has one incident, and both machines have the same.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from oborona import state_files
from oborona.accounts.account import AccountRecord, AccountState
from tests.peers.postgresql import Postgresql
from tests.replication.account_machine import NOW, AccountMachine
from tests.replication.machines import dump, two_machines

ROOT = Path(__file__).resolve().parents[2]
ACCOUNTS = ("joe", "ann", "eve")
ROUNDS = 6
HEALED_S = 60.0


class _Keeper:
    """A keeper that is killed and begun anew."""

    def __init__(self, machine: AccountMachine) -> None:
        self._command = [sys.executable, "-m", "tests.replication.account_keeper"]
        self._command.append(str(machine.state))
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, cwd=ROOT, stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(timeout=30)


@contextmanager
def keepers(machines: tuple[AccountMachine, AccountMachine]) -> Iterator[list[_Keeper]]:
    with ExitStack() as stack:
        found = [_Keeper(machine) for machine in machines]
        for one in found:
            stack.callback(one.kill)
        yield found


@pytest.mark.parametrize("seed", [1, 2])
def test_whoever_is_killed_each_excess_is_judged_once(tmp_path: Path, seed: int) -> None:
    chance, written = random.Random(seed), 0
    with Postgresql(sync=True) as postgresql:
        first, second = machines = _known(tmp_path, postgresql)
        with keepers(machines) as running:
            for turn in range(ROUNDS):
                for _ in range(60):
                    written += 1
                    machine, account = chance.choice(machines), chance.choice(ACCOUNTS)
                    machine.exceed(account, value=float(written))
                    time.sleep(chance.uniform(0.0, 0.04))
                if turn % 3 == 1:
                    postgresql.kill()
                    time.sleep(chance.uniform(0.0, 0.5))
                    first.exceed(ACCOUNTS[0])
                    written += 1
                victim = chance.choice(running)
                victim.kill()
                time.sleep(chance.uniform(0.0, 0.2))
                if turn % 3 == 1:
                    postgresql.start()
                victim.start()
            deadline = time.monotonic() + HEALED_S
            while any(_waits(machine) for machine in machines):
                assert time.monotonic() < deadline
                time.sleep(0.05)
        first.follow()
        second.follow()
        assert dump(first.state, state_files.ACCOUNTS) == dump(second.state, state_files.ACCOUNTS)
        found = first.incidents()
        assert sorted(one.account for one in found) == sorted(ACCOUNTS)
        assert sum(one.excesses for one in found) == written
        for machine in machines:
            assert [machine.refuses(one) for one in ACCOUNTS] == [AccountState.BANNED] * 3


def _known(root: Path, postgresql: Postgresql) -> tuple[AccountMachine, AccountMachine]:
    first, second = map(AccountMachine, two_machines(root, postgresql.address))
    known = [AccountRecord(id=name, logins=(name,), since=NOW - 86_400) for name in ACCOUNTS]
    first.ask(lambda store: store.put(known, by="anna", now=NOW))
    second.follow()
    return first, second


def _waits(machine: AccountMachine) -> bool:
    spool = machine.state / state_files.EXCESSES
    blocks = machine.state / state_files.ACCOUNTS_WAITING
    return blocks.exists() or (spool.exists() and any(spool.iterdir()))
