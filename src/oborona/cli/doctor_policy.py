"""What `oborona doctor` says of the policy in force: which, since when, whether all workers have
it, and what keeps the files from it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime

from oborona.cli.asked import Asked
from oborona.cli.migration.layout import Copy, copies
from oborona.cli.policy_files import files
from oborona.cli.policy_reload import told
from oborona.cli.report import Report, State
from oborona.daemon.publisher.telling import CHANGES, REFUSALS, SINCE
from oborona.errors import PolicyError
from oborona.telemetry import status


def policy_files(asked: Asked) -> Iterator[Report]:
    """Look at whose the policy files are."""
    try:
        current = asked.policy()
        unchanged = [one for one in copies(asked.policy_folders) if one.copy is Copy.UNCHANGED]
    except PolicyError:
        return  # it is told with the policy itself
    for line in files(current):
        what, _, words = line.partition(": ")
        yield Report(f"policy, {what}", State.OK, words)
    if unchanged:
        yield Report(
            "policy layout",
            State.WARN,
            f"{len(unchanged)} files in {asked.policy_folders.own} are copies of files that ship, "
            f"and keep newer ones out;"
            " `oborona policy migrate --dry-run` shows what moving them would do",
        )


def policy(asked: Asked) -> Iterator[Report]:
    """Look at what the publisher and the workers say."""
    now = time.time()
    said = status.read_one(asked.state, status.PolicyStatus, now)
    workers = status.read(asked.state, now)
    if said is None:
        state = State.FAIL if workers else State.WARN
        yield Report("policy in force", state, "nobody publishes it: no daemon runs, or not yet")
        return
    since = SINCE.of(said.metrics)
    changes, refusals = CHANGES.of(said.metrics), REFUSALS.of(said.metrics)
    words = (
        f"{said.version} since {datetime.fromtimestamp(since, UTC):%Y-%m-%d %H:%M:%S} UTC, "
        f"changed {changes} times, refused {refusals}"
    )
    # what a worker said before the change is no news
    others = [one for one in workers if one.policy != said.version and one.time > since]
    if others:
        words += "; other policies: " + ", ".join(
            f"worker {one.worker} {one.policy}" for one in others
        )
    yield Report("policy in force", State.FAIL if others else State.OK, words)
    if said.refused is not None:
        yield Report(
            "policy files", State.FAIL, f"refused, the old policy stays: {told(said.refused)}"
        )
    elif said.trouble:
        yield Report("policy files", State.FAIL, f"not in force: {said.trouble}")
