"""What must hold of another filter's configuration, whatever octets it is."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from oborona.desk.move_in.plan_parts import OldProgram
from oborona.desk.move_in.programs import read_plan
from oborona.errors import ConfigError

_FILES: Final = {
    OldProgram.RSPAMD: "configdump.json",
    OldProgram.SPAMASSASSIN: "local.cf",
    OldProgram.MAILCOW: "filterconf.sql",
    OldProgram.AMAVIS: "amavisd.conf",
}


def configuration(octets: bytes) -> None:
    """A file of the program that the first line names, which nothing is raised by but a place.

    Lines of SpamAssassin are carried over or told, each of them.
    """
    named, _, raw = octets.partition(b"\n")
    program = next((one for one in OldProgram if one.encode() == named), OldProgram.SPAMASSASSIN)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, _FILES[program]).write_bytes(raw)
        try:
            plan = read_plan(program, Path(folder), now=1e9)
        except ConfigError as error:
            refused = error.file
        else:
            refused = _FILES[program]
            places = plan.carried | {line.place for line in plan.left}
            known = {place.line for place in places}
            for number, line in enumerate(raw.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
                text = line.decode("utf-8", "replace").strip()
                if program is OldProgram.SPAMASSASSIN and text and not text.startswith("#"):
                    assert number in known, text
    assert refused == _FILES[program]
