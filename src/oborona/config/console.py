"""Settings of the console: its pages, and the desk that answers them.

Where both are is in `console_door`, other machines' desks in `console_desks`, who signs in and how
in `console_sign_in`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from oborona.config.console_sign_in import ConsoleSignInSettings


class ConsoleSettings(ConsoleSignInSettings, frozen=True, kw_only=True):
    """Pages for people, and the API behind them (docs/operate/console.md)."""

    digest: Annotated[
        Literal["off", "daily"],
        Meta(
            description="Mail people who may log in and have addresses what was kept from them, at "
            "most once a day, through alarm.mail_server (docs/people/my-mail.md). It needs url."
        ),
    ] = "off"
    digest_hour: Annotated[
        int,
        Meta(
            ge=0,
            le=23,
            description="From this hour of the server's clock on, for those who chose no other.",
        ),
    ] = 7

    senders: Annotated[
        bool,
        Meta(
            description="A page, /senders, where who was refused pastes the reference of the "
            "refusal, is told why in general words, and may appeal once (docs/operate/senders.md)."
        ),
    ] = False
    policy: Annotated[
        Literal["overlay", "read", "write"],
        Meta(
            description="What drafts of the policy may be published to: the file 90-console.toml "
            "of the policy folder alone, nothing, or all files of that folder."
        ),
    ] = "overlay"

    two_persons: Annotated[
        bool,
        Meta(
            description="Publish the policy live by two persons alone: one proposes a draft, "
            "another approves it (docs/policy/drafts.md). Rolling back needs one."
        ),
    ] = False
