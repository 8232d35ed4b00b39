"""What `oborona doctor` says of accounts: how many are stopped, and whether the file works."""

from __future__ import annotations

import time
from collections.abc import Iterator

from oborona import state_files
from oborona.accounts.account import AccountState
from oborona.accounts.followed_accounts import STALE
from oborona.accounts.store.accounts import AccountStore
from oborona.accounts.waiting_blocks import WaitingBlocks
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.telemetry import status


def accounts(context: Site) -> Iterator[CheckReport]:
    """Look at the file of accounts, and at what workers hold; nothing where there is none."""
    path, now = context.state / state_files.ACCOUNTS, time.time()
    if not path.exists():
        return
    try:
        with AccountStore(path, make=False) as store:
            stopped = {
                state: len(store.accounts(now=now, state=state))
                for state in (AccountState.BANNED, AccountState.LIMITED)
            }
    except StoreError as error:
        yield CheckReport("accounts", CheckState.FAIL, str(error))
    else:
        counted = ", ".join(f"{number} {state}" for state, number in stopped.items() if number)
        yield CheckReport("accounts", CheckState.OK, f"{path}: {counted or 'none is stopped'}")
    if waiting := {block.account for block in WaitingBlocks(path).now().values()}:
        number = len(waiting)
        many = f"{number} accounts are" if number > 1 else "1 account is"
        words = (
            f"{many} stopped on this machine alone, for the site's log is away; "
            "the inspector decides for all machines when it is there"
        )
        yield CheckReport("accounts", CheckState.WARN, words)
    for worker in status.read_workers(context.state, now):
        if STALE.of(worker.metrics):
            words = f"worker {worker.worker} can't use the file of accounts; its log says why"
            yield CheckReport("accounts", CheckState.FAIL, words)
