"""The user at the terminal, for records that name their author."""

from __future__ import annotations

import getpass
import os


def invoking_user() -> str:
    """Return the login of the person; under sudo, of who called it."""
    return os.environ.get("SUDO_USER") or getpass.getuser()
