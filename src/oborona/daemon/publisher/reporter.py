"""The reports of the publisher: log lines, each event once, and its status for metrics and
`oborona doctor`.
"""

from __future__ import annotations

import logging
import os
import time
from itertools import islice
from pathlib import Path
from typing import Final

from oborona.daemon.publisher.reload_socket import ReloadOutcome
from oborona.errors import PolicyError, StoreError
from oborona.metrics import REGISTRY, Counter, Gauge
from oborona.telemetry import status
from oborona.telemetry.log import event
from oborona.telemetry.status import PolicyRefusal, PolicyStatus

TEXT_CHARS: Final = 300  # of a broken line
WRONG: Final = Gauge(
    "oborona_policy_wrong", "1 while the policy files are refused and the old policy stays.", ()
)
STUCK: Final = Gauge(
    "oborona_policy_stuck",
    "1 while the policy files are right and can't be put in force; the log says why.",
    (),
)
SINCE: Final = Gauge(
    "oborona_policy_since_seconds", "When the policy in force came into force, Unix time.", ()
)
CHANGES: Final = Counter("oborona_policy_changes", "Changes of the policy in force.", ())
REFUSALS: Final = Counter(
    "oborona_policy_refusals", "Times that policy files were found broken.", ()
)
REFUSED_AT: Final = Gauge(
    "oborona_policy_refused_at_seconds",
    "When policy files were found broken last, Unix time; 0: never.",
    (),
)
SECONDS: Final = Gauge(
    "oborona_policy_change_seconds",
    "Seconds that the last change took, from when it was seen until all workers judged by it.",
    (),
)
LATE: Final = Gauge(
    "oborona_policy_late_workers", "Workers that were not ready in time at the last change.", ()
)

log = logging.getLogger("oborona.policy")


class PolicyReporter:
    """Reports the outcome of each look at the policy files.

    Args:
        state: state folder.
    """

    def __init__(self, state: Path) -> None:
        self._state = state
        self._since = (
            time.time()
        )  # the policy in force came into force; of what was before this service, no longer
        self._version = ""
        self._refused: PolicyRefusal | None = None  # what is wrong with the files now
        self._trouble = ""  # why the files, which are right, are not in force
        self._said = ""  # of what is wrong
        self._written = 0.0  # monotonic; 0 = there is news
        self._unwritten = ""  # why the status can't be written

    def begin(self, version: str) -> None:
        """Take the version in force at the start of this process."""
        self._version = version
        SINCE.set(self._since)

    def came(self, outcome: ReloadOutcome, *, asked: bool) -> None:
        """Log what came of a look, and take it into the status.

        Args:
            outcome: of it.
            asked: somebody wants to know: what is as it was is told, too.
        """
        words = outcome.trouble or (refusal_text(outcome.refused) if outcome.refused else "")
        if outcome.changed:
            late = {"late": outcome.late} if outcome.late else {}
            level = logging.WARNING if outcome.late else logging.INFO
            about = {
                "version": outcome.version,
                "seconds": outcome.seconds,
                "workers": outcome.workers,
            }
            event(log, level, "policy loaded", **about, **late)
        elif words and (asked or words != self._said):
            trouble = "policy refused" if outcome.refused else "policy can't be put in force"
            event(log, logging.ERROR, f"{trouble}, the old one stays", error=words)
        elif not words and self._said:
            event(log, logging.INFO, "policy is right again", version=outcome.version)
        elif outcome.reworded:
            event(
                log,
                logging.INFO,
                "policy files changed, and mean the same",
                version=outcome.version,
            )
        elif not words and asked:
            event(log, logging.INFO, "policy is as it was", version=outcome.version)
        self._said = words
        self._version, self._refused, self._trouble = (
            outcome.version,
            outcome.refused,
            outcome.trouble,
        )
        WRONG.set(outcome.refused is not None)
        STUCK.set(bool(outcome.trouble))
        if outcome.changed:
            CHANGES.inc()
            SINCE.set(time.time())
            SECONDS.set(outcome.seconds)
            LATE.set(len(outcome.late))
        if outcome.refused is not None:
            REFUSALS.inc()
            REFUSED_AT.set(time.time())
        self._written = 0.0

    def report(self) -> None:
        """Write the status, when there is news and every few seconds."""
        if self._written and time.monotonic() - self._written < status.WRITE_S:
            return
        self._written = time.monotonic()
        try:
            report = PolicyStatus(
                pid=os.getpid(),
                time=time.time(),
                metrics=REGISTRY.snapshot(),
                version=self._version,
                refused=self._refused,
                trouble=self._trouble,
            )
            status.write_status(self._state, report)
            self._unwritten = ""
        except StoreError as error:
            if str(error) != self._unwritten:
                event(log, logging.WARNING, "no status for metrics", error=error)
            self._unwritten = str(error)

    def end(self) -> None:
        """Take the status away."""
        try:
            status.remove_process(self._state, status.PolicyStatus)
        except StoreError as error:
            event(log, logging.WARNING, "status stays behind", error=error)


def refusal_of(error: PolicyError) -> PolicyRefusal:
    """Return what is wrong with a policy file, with the line as it stands there now."""
    text = ""
    if error.file and error.line:
        try:
            with Path(error.file).open("rb") as handle:
                line = next(islice(handle, error.line - 1, None), b"")
            text = line.rstrip(b"\r\n").decode("utf-8", "replace")[:TEXT_CHARS]
        except OSError:
            text = ""  # it is gone again, or the folder is what can't be read
    more = f"; and {len(error.more)} more, which `oborona policy check` tells" if error.more else ""
    return PolicyRefusal(
        problem=f"{error.problem}{more}",
        file=error.file,
        line=error.line,
        column=error.column,
        text=text,
    )


def refusal_text(refused: PolicyRefusal) -> str:
    """Return what is wrong in one line, with its place."""
    return str(
        PolicyError(refused.problem, file=refused.file, line=refused.line, column=refused.column)
    )
