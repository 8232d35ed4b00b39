"""What `oborona doctor` says of the audit log: is its chain whole, has every act an end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from oborona import state_files
from oborona.audit.reader import AuditQuery, AuditReader
from oborona.audit.site_key import audit_key
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.site import Site

WEEK_S: Final = 7 * 86_400.0
MOST: Final = 1000  # acts without an end that are counted


def audit(context: Site) -> Iterator[CheckReport]:
    """Look at every row of the audit log, and at acts of the last week that have no end."""
    path = context.state / state_files.AUDIT
    if not path.exists():
        return
    with context.as_owner(), AuditReader(path) as reader:
        chain = reader.verify(audit_key(context.state))
        unended = reader.acts(AuditQuery(since=time.time() - WEEK_S, open_only=True), MOST)
    if chain.faults:
        yield CheckReport(
            "audit", CheckState.FAIL, f"{path}: {chain.faults[0]}", "oborona audit verify"
        )
    elif unended:
        yield CheckReport(
            "audit",
            CheckState.WARN,
            f"{len(unended)} acts of the last week have no end: they run, or were killed",
            "oborona audit --open --since 7d",
        )
    else:
        yield CheckReport("audit", CheckState.OK, f"{path}: {chain.rows} rows, whole")
