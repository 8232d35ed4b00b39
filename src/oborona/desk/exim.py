"""The Exim of this machine: whether its configuration asks us, and what is to be added where it
does not.

Nothing is changed here: Debian's configuration is made of files that admins edit, and there is no
tool of Exim's that edits it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from oborona.config import Settings
from oborona.desk.doctor.report import MAIL_SERVER, CheckReport, CheckState
from oborona.desk.programs import ProgramError, exim_program, program, run
from oborona.desk.site import Site

CONTENT: Final = "acl_m_oborona_verdict"  # set by each of etc/exim/acl_data*
RECIPIENTS: Final = "acl_c_oborona"  # by acl_connect, acl_mail, acl_rcpt
DEBIAN: Final = Path("/etc/exim4/update-exim4.conf.conf")
FILES: Final = Path(__file__).parents[1] / "etc/exim"  # wherever this program was installed
DOOR: Final = "inet:127.0.0.1:8892"  # as etc/exim/main has it, unless another is defined
SPAMD: Final = "inet:127.0.0.1:8893"
_SPLIT: Final = re.compile(r"^\s*dc_use_split_config\s*=\s*['\"]?true", re.MULTILINE)


def what_to_add(settings: Settings) -> str:
    """Return what an admin adds, for Debian's configuration as it is here, and what is to be done
    then.
    """
    try:
        split: bool | None = bool(_SPLIT.search(DEBIAN.read_text(errors="replace")))
    except OSError:
        split = None
    where = (
        "/etc/exim4/conf.d/main/000_localmacros" if split else "/etc/exim4/exim4.conf.localmacros"
    )
    kind = {
        True: "Debian's split files",
        False: "Debian's single file",
        None: (
            "a configuration of your own: docs/mail-servers/exim.md tells where each file "
            "belongs; on Debian"
        ),
    }[split]
    doors = settings.doors
    steps = [
        f"Exim is not changed by this command; do it in this order ({kind}):",
        f"    install -d /etc/exim4/oborona && cp {FILES}/* /etc/exim4/oborona/",
        f"to {where}:",
        *_other_places(settings),
        "    .include /etc/exim4/oborona/main",
        "    CHECK_RCPT_LOCAL_ACL_FILE = /etc/exim4/oborona/acl_rcpt",
        "    CHECK_DATA_LOCAL_ACL_FILE = /etc/exim4/oborona/acl_data",
    ]
    for name, door, listen in (
        ("exim", doors.exim, DOOR),
        ("spamd", doors.spamd, SPAMD),
    ):
        if not door.listen:
            steps += [f"to oborona.toml, below [doors.{name}]:", f'    listen = "{listen}"']
    steps += ["then:", "    systemctl restart oborona"]
    steps.append("    update-exim4.conf && systemctl restart exim4")
    return "\n".join(steps)


def _other_places(settings: Settings) -> Iterator[str]:
    """Yield the names to define where a door listens elsewhere than etc/exim/main expects."""
    for name, listen, expected in (
        ("OBORONA_SOCKET", settings.doors.exim.listen, DOOR),
        ("OBORONA_SPAMD", settings.doors.spamd.listen, SPAMD),
    ):
        if not listen or listen == expected:
            continue
        place = listen.removeprefix("unix:")
        if name == "OBORONA_SPAMD":  # an address and a port with a space between
            place = " ".join(place.removeprefix("inet:").rsplit(":", 1))
        yield f"    {name} = {place}"


def exim(context: Site) -> Iterator[CheckReport]:
    """Tell whether the Exim of this machine asks us.

    Nothing is said where Postfix is its mail server, or none is there.
    """
    path = exim_program()
    if path is not None and program("postconf") is None:
        yield check_exim([path], context.loaded.settings)


def check_exim(command: list[str], settings: Settings) -> CheckReport:
    """Return what there is to say of an Exim.

    Args:
        command: Exim, and its options.
        settings: ours.
    """
    subject, hint = MAIL_SERVER, "oborona attach exim says what to add"
    try:
        config = run([*command, "-bP", "config"])
    except ProgramError as error:
        return CheckReport(
            subject,
            CheckState.WARN,
            f"Exim does not tell its configuration: {error}",
            "run this as root",
        )
    content, recipients = CONTENT in config, RECIPIENTS in config
    if not content:
        words = (
            "asks us about recipients, and not about messages" if recipients else "does not ask us"
        )
        return CheckReport(subject, CheckState.FAIL, f"Exim {words}", hint)
    closed = [
        f"doors.{name}" for name in ("exim", "spamd") if not getattr(settings.doors, name).listen
    ]
    if closed == ["doors.exim", "doors.spamd"]:
        return CheckReport(
            subject,
            CheckState.FAIL,
            f"Exim asks us, and neither {' nor '.join(closed)} is open",
            hint,
        )
    about = "recipients and messages" if recipients else "messages"
    return CheckReport(subject, CheckState.OK, f"Exim asks us about {about}")
