"""The judging part of a machine's keeper as a process, to be killed: it follows the others and
judges what its workers have written.

    python -m tests.replication.account_keeper STATE
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

from oborona.daemon.site.common_kinds import COMMON_KINDS
from oborona.daemon.site.follower import ReplicaFollower
from oborona.replication.link import read_link
from tests.replication.account_machine import AccountMachine

EACH_S = 0.03  # between looks


def main() -> None:
    """Be it until it is killed."""
    state = Path(sys.argv[1])
    link = read_link(state)
    assert link is not None
    follower = ReplicaFollower(state, link, COMMON_KINDS, "1")
    threading.Thread(target=follower.run, args=(threading.Event(),), daemon=True).start()
    machine = AccountMachine(state)
    while True:
        machine.judge_all()
        time.sleep(EACH_S)


if __name__ == "__main__":
    main()
