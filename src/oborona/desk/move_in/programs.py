"""A folder of an old program's files read into a plan."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from oborona.desk.move_in.amavis import read_amavis
from oborona.desk.move_in.mailcow import read_mailcow
from oborona.desk.move_in.plan import MovePlan
from oborona.desk.move_in.plan_parts import OldProgram, SourcePlace
from oborona.desk.move_in.rspamd import read_rspamd
from oborona.desk.move_in.sources import SourceFolder
from oborona.desk.move_in.spamassassin import read_spamassassin


def read_plan(
    program: OldProgram,
    folder: Path,
    *,
    now: float,
    taken: Iterable[str] = (),
    domain: str = "",
    dump: tuple[str, bytes] | None = None,
) -> MovePlan:
    """Return what becomes of what a folder holds.

    Args:
        program: whose files they are.
        folder: of them.
        now: Unix seconds.
        taken: names that rules and lists of the site have already.
        domain: of people whom SpamAssassin knows by a login alone.
        dump: of rspamd, where it is no file of the folder: name and octets.

    Raises:
        ConfigError: it can't be read, or is none of that program's.
    """
    source, plan = SourceFolder(folder), MovePlan(program, taken)
    match program:
        case OldProgram.RSPAMD:
            read_rspamd(source, dump, plan, now=now)
        case OldProgram.SPAMASSASSIN:
            read_spamassassin(source, plan, domain=domain, now=now)
        case OldProgram.MAILCOW:
            read_mailcow(source, plan, now=now)
        case OldProgram.AMAVIS:
            read_amavis(source, plan, now=now)
    if program is not OldProgram.RSPAMD:  # whose dump says what its own files do
        for name in source.unread():
            plan.leave(SourcePlace(name), name, "is no file that anything is taken from")
    return plan
