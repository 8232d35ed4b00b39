"""Settings of the tables that mail servers look things up in."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta


class ExportSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Tables of who is refused now, for a mail server's own look-ups; they need no daemon of ours
    (docs/mail-servers/exim.md).
    """

    folder: Annotated[
        str,
        Meta(
            pattern=r"\A(/[^\x00-\x1f\x7f]+)?\Z",
            max_length=4096,
            description=(
                "Where they are written, a folder of their own that is there and is ours to "
                "write. Empty: nowhere."
            ),
            extra={"allowed": 'an absolute path, or ""'},
        ),
    ] = ""
    interval_s: Annotated[
        float,
        Meta(ge=1, le=86_400, description="How often they are brought up to date."),
    ] = 60.0
    mode: Annotated[
        str,
        Meta(
            pattern=r"\A0?[0-7]{3}\Z",
            description=(
                "Permissions of the files, octal. They say whom you refuse, and why; the mail "
                "server must be able to read them."
            ),
            extra={"allowed": 'three octal digits in quotes, such as "0640"'},
        ),
    ] = "0644"
