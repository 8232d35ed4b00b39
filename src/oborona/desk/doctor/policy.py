"""What `oborona doctor` says of the policy in force: which, since when, whether all workers have
it, and what keeps the files from it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime

from oborona.daemon.publisher.reporter import CHANGES, REFUSALS, SINCE
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.policy_files import files
from oborona.desk.policy_layout import CopyState, copies
from oborona.desk.policy_problem import render_problem
from oborona.desk.site import Site
from oborona.errors import PolicyError
from oborona.telemetry import status


def policy_files(context: Site) -> Iterator[CheckReport]:
    """Look at whose the policy files are."""
    try:
        current = context.policy()
        unchanged = [
            copy for copy in copies(context.policy_folders) if copy.copy is CopyState.UNCHANGED
        ]
    except PolicyError:
        return  # it is told with the policy itself
    for line in files(current):
        subject, _, words = line.partition(": ")
        yield CheckReport(f"policy, {subject}", CheckState.OK, words)
    if unchanged:
        yield CheckReport(
            "policy layout",
            CheckState.WARN,
            f"{len(unchanged)} files in {context.policy_folders.own} are copies of files that ship, "
            f"and keep newer ones out;"
            " `oborona policy migrate --dry-run` shows what moving them would do",
        )


def policy(context: Site) -> Iterator[CheckReport]:
    """Look at what the publisher and the workers say."""
    now = time.time()
    policy_status = status.read_process(context.state, status.PolicyStatus, now)
    workers = status.read_workers(context.state, now)
    if policy_status is None:
        state = CheckState.FAIL if workers else CheckState.WARN
        yield CheckReport(
            "policy in force", state, "nobody publishes it: no daemon runs, or not yet"
        )
        return
    since = SINCE.of(policy_status.metrics)
    changes, refusals = CHANGES.of(policy_status.metrics), REFUSALS.of(policy_status.metrics)
    words = (
        f"{policy_status.version} since {datetime.fromtimestamp(since, UTC):%Y-%m-%d %H:%M:%S} UTC, "
        f"changed {changes} times, refused {refusals}"
    )
    # what a worker said before the change is no news
    others = [
        worker
        for worker in workers
        if worker.policy != policy_status.version and worker.time > since
    ]
    if others:
        words += "; other policies: " + ", ".join(
            f"worker {worker.worker} {worker.policy}" for worker in others
        )
    yield CheckReport("policy in force", CheckState.FAIL if others else CheckState.OK, words)
    if policy_status.refused is not None:
        yield CheckReport(
            "policy files",
            CheckState.FAIL,
            f"refused, the old policy stays: {render_problem(policy_status.refused)}",
        )
    elif policy_status.trouble:
        yield CheckReport("policy files", CheckState.FAIL, f"not in force: {policy_status.trouble}")
