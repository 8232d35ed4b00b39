"""Who is at the terminal, for what is written down with a name."""

from __future__ import annotations

import getpass
import os


def invoking_user() -> str:
    """Return the login of the person; under sudo, of who called it."""
    return os.environ.get("SUDO_USER") or getpass.getuser()
