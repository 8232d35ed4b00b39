"""The Exim of this machine: which configuration it has, whether that asks us, and what is to be added where it does not.

Nothing is changed here: Debian's configuration is made of files that admins edit, and there is no tool of Exim's that edits it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from oborona.config import Settings

DEBIAN: Final = Path("/etc/exim4/update-exim4.conf.conf")
_SPLIT: Final = re.compile(r"^\s*dc_use_split_config\s*=\s*['\"]?true", re.MULTILINE)


def what_to_add(settings: Settings) -> str:
    """Return what an admin adds, for Debian's configuration as it is here, and what is to be done then."""
    try:
        split: bool | None = bool(_SPLIT.search(DEBIAN.read_text(errors="replace")))
    except OSError:
        split = None
    where = "/etc/exim4/conf.d/main/000_localmacros" if split else "/etc/exim4/exim4.conf.localmacros"
    kind = {
        True: "Debian's split files",
        False: "Debian's single file",
        None: "a configuration of your own: docs/exim.md tells where each file belongs; on Debian",
    }[split]
    doors = settings.doors
    steps = [
        f"Exim is not changed by this command; do it in this order ({kind}):",
        "    usermod --append --groups Debian-exim oborona",
        "    install -d /etc/exim4/oborona && cp etc/exim/* /etc/exim4/oborona/",
        f"to {where}:",
        "    .include /etc/exim4/oborona/main",
        "    CHECK_RCPT_LOCAL_ACL_FILE = /etc/exim4/oborona/acl_rcpt",
        "    CHECK_DATA_LOCAL_ACL_FILE = /etc/exim4/oborona/acl_data",
    ]
    for name, door, socket in (("exim", doors.exim, "exim.sock"), ("spamd", doors.spamd, "spamd.sock")):
        if not door.listen:
            steps += [
                f"to oborona.toml: [doors.{name}]",
                f'    listen = "unix:/run/oborona/{socket}"',
                '    socket_group = "Debian-exim"',
            ]
    steps += ["then restart Oborona, and:", "    update-exim4.conf && systemctl restart exim4"]
    return "\n".join(steps)
