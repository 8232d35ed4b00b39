"""What `oborona doctor` says of other systems that hear of accounts: do they take what they are
told, and is a command run?
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from oborona import state_files
from oborona.accounts.incidents.incident import ActionKind
from oborona.accounts.incidents.store import IncidentStore
from oborona.desk.doctor.outgoing import UNTAKEN_S, written
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.doctor.traffic import ago
from oborona.desk.hook_program import hook_program
from oborona.desk.site import Site
from oborona.errors import StoreError

_WHAT: Final = {ActionKind.HOOK: "hook", ActionKind.COMMAND: "hook command"}


def hooks(context: Site) -> Iterator[CheckReport]:
    """Look at the webhook and the command of the settings; nothing where there is neither."""
    program = hook_program(context)
    yield from _failing(context)
    if program is None:
        return
    what = _WHAT[ActionKind.COMMAND]
    if trouble := program.trouble:
        yield CheckReport(what, CheckState.FAIL, trouble)
        return
    marked = written(context.state / state_files.HOOK_DUE)
    waits_s = 0.0 if marked is None else time.time() - marked
    if waits_s > UNTAKEN_S:
        yield CheckReport(
            what,
            CheckState.FAIL,
            f"nobody has run it for {ago(waits_s)}, and it is asked for",
            "systemctl enable --now oborona-hook.path; oborona incident run-hooks runs it now",
        )
    else:
        yield CheckReport(what, CheckState.OK, context.loaded.settings.inspector.hook_command)


def _failing(context: Site) -> Iterator[CheckReport]:
    path = context.state / state_files.ACCOUNTS
    if not path.exists():
        return
    try:
        with IncidentStore(path, make=False) as store:
            failing = [one for one in store.wanted() if one.kind in _WHAT and one.attempts]
    except StoreError:
        return  # another report says so
    for kind, what in _WHAT.items():
        if some := [one for one in failing if one.kind is kind]:
            words = f"{len(some)} accounts could not be told of; {some[-1].target}: "
            yield CheckReport(
                what, CheckState.FAIL, words + some[-1].answer, "it is tried again by itself"
            )
