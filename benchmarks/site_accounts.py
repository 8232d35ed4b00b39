"""Accounts of several machines as one site: excesses judged, bans in force, accounts imported, and
what each costs the log.

    benchmarks/site_accounts.py [--excesses 20000] [--accounts 4000] [--machines 2]

A PostgreSQL of its own with `fsync`, state folders as machines, all on loopback.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from oborona import state_files
from oborona.accounts.followed_accounts import FollowedAccounts
from oborona.accounts.registration_import import import_accounts
from oborona.accounts.store.accounts import AccountStore
from oborona.accounts.store.rows import DeedKind
from oborona.policy.account_tests import AccountTests
from tests.peers.postgresql import Postgresql
from tests.replication.account_machine import AccountMachine
from tests.replication.machines import following, new_state, site_of

OVER = 50  # accounts that are over a limit
BANS = 100


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--excesses", type=int, default=20_000)
    parser.add_argument("--accounts", type=int, default=4_000)
    parser.add_argument("--machines", type=int, default=2)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="oborona-site-") as folder:
        root = Path(folder)
        alone = [AccountMachine(new_state(root / "alone"))]
        _tell_import("alone", alone[0], asked.accounts)
        _tell_judged("alone", alone, asked.excesses)
        with Postgresql(sync=True) as server, ExitStack() as stack:
            machines = [
                AccountMachine(state) for state in site_of(root, server.address, asked.machines)
            ]
            for one in machines:
                stack.enter_context(following(one.state))
            before = _logged(server)
            _tell_import("a site", machines[0], asked.accounts)
            between = _logged(server)
            _tell_judged("a site", machines, asked.excesses)
            after = _logged(server)
            _tell_logged("import", before, between)
            _tell_logged("excesses", between, after)
            late = sorted(_late(machines))
            print(
                f"a person's ban in force on {asked.machines - 1} others, ms: "
                f"p50 {late[len(late) // 2] * 1e3:.1f}, most {late[-1] * 1e3:.1f}"
            )


def _tell_import(what: str, machine: AccountMachine, number: int) -> None:
    lines = [
        (
            place,
            json.dumps(
                {
                    "account": f"c{place}",
                    "logins": [f"user{place}@example.test"],
                    "customer": {"id": f"k{place // 4}"},
                    "registration": {"country": "DE", "address": f"192.0.2.{place % 250}"},
                }
            ).encode(),
        )
        for place in range(number)
    ]
    began = time.perf_counter()
    with AccountStore(machine.path) as store:
        import_accounts(
            store, lines, AccountTests([]), by="shop", now=machine.now, fault=lambda *_: None
        )
    wall = time.perf_counter() - began
    print(f"{what}: {number / wall:,.0f} accounts/s imported")


def _tell_judged(what: str, machines: list[AccountMachine], number: int) -> None:
    """Let all machines judge excesses of the same accounts, at the same time."""
    each = number // len(machines)
    for machine in machines:
        for place in range(each):
            machine.exceed(f"user{place % OVER}@example.test", at=machine.now + place / each)
    threads = [threading.Thread(target=machine.judge_all) for machine in machines]
    began, spent = time.perf_counter(), time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wall, cpu = time.perf_counter() - began, time.process_time() - spent
    total = each * len(machines)
    print(f"{what}: {total / wall:,.0f} excesses/s judged, {cpu / total * 1e6:,.0f} us of CPU each")
    for machine in machines:
        assert not list((machine.state / state_files.EXCESSES).iterdir())


def _tell_logged(what: str, before: tuple[int, int], after: tuple[int, int]) -> None:
    print(
        f"in the log, {what}: {after[0] - before[0]:,} changes, {(after[1] - before[1]) / 1e6:.2f} MB"
    )


def _logged(server: Postgresql) -> tuple[int, int]:
    ((changes, octets),) = server.rows(
        "SELECT count(*), coalesce(sum(length(statements)), 0)::bigint FROM oborona.change"
    )
    return int(changes), int(octets)


def _late(machines: list[AccountMachine]) -> list[float]:
    """Return after how many seconds the last machine refuses, from when the ban is said."""
    first, *others = machines
    found = []
    with ExitStack() as stack:
        workers = [stack.enter_context(closing(FollowedAccounts(one.path))) for one in others]
        for number in range(BANS):
            name = f"stolen{number}@example.test"
            began = time.perf_counter()
            first.order(DeedKind.BAN, name)
            for worker in workers:
                while worker.of(name, first.now) is None:
                    worker.look()
                    time.sleep(0.001)
            found.append(time.perf_counter() - began)
    return found


if __name__ == "__main__":
    main()
