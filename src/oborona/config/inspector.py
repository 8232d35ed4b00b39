"""Settings of the inspector, which judges accounts that went over a limit."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta


class InspectorSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of accounts of ours that go over a limit (docs/people/incidents.md)."""

    mode: Annotated[
        Literal["shadow", "live"],
        Meta(
            description="shadow: what would be done is written down and told, and nothing is done; "
            "live: accounts are limited and banned."
        ),
    ] = "shadow"
    confident: Annotated[
        int,
        Meta(
            ge=0,
            le=100,
            description="An account with this rating or more is left alone: its incident is "
            "written down.",
        ),
    ] = 70
    ban: Annotated[
        int,
        Meta(
            ge=0,
            le=100,
            description="An account with a lower rating is banned; between the two a person "
            "decides. 0: none is banned.",
        ),
    ] = 30
    many_incidents: Annotated[
        int,
        Meta(
            ge=1,
            le=1000,
            description="From so many incidents in a week that wait for a person an account is "
            "limited until one decides.",
        ),
    ] = 3
    ban_hours: Annotated[
        float, Meta(ge=0.1, le=8760, description="How long a ban or limit lasts at most.")
    ] = 24.0
    most_bans_an_hour: Annotated[
        int,
        Meta(
            ge=0,
            le=10_000,
            description="Above so many bans within an hour a person decides, and is told so.",
        ),
    ] = 5
    registration_days: Annotated[
        int,
        Meta(
            ge=0,
            le=36_500,
            description="How long it is kept from which address, with which mail address, "
            "telephone and user name an account was registered. 0: as long as the account.",
        ),
    ] = 730
    second_to: Annotated[
        str,
        Meta(
            pattern=r"\A([^\s@,;<>\x00-\x1f\x7f-\xff]+@[^\s@,;<>\x00-\x1f\x7f-\xff]+( |\Z))*\Z",
            max_length=2000,
            description="Mail addresses of those who hear of an incident that nobody has taken "
            "by then, with spaces between. Empty: none.",
            extra={"allowed": 'mail addresses in ASCII with single spaces between, or ""'},
        ),
    ] = ""
    second_after_min: Annotated[
        float, Meta(ge=1, le=10_080, description="How long they are not told.")
    ] = 30.0
    hook: Annotated[
        str,
        Meta(
            pattern=r"\A(https?://[!-~]+)?\Z",
            max_length=2000,
            description="URL that hears, as JSON, of each account that is banned, limited or open "
            "again. Empty: none.",
            extra={"allowed": 'a URL that begins with https:// or http://, or ""'},
        ),
    ] = ""
    hook_key_file: Annotated[
        str,
        Meta(
            max_length=4096,
            pattern=r"\A(/[^\x00-\x1f\x7f]+)?\Z",
            description="File that holds the secret with which what is posted is signed, and "
            "nothing else. Empty: it is not signed.",
            extra={"allowed": 'an absolute path, or ""'},
        ),
    ] = ""
    hook_command: Annotated[
        str,
        Meta(
            max_length=2000,
            pattern=r"\A(/[!-~]+( [!-~]+)*)?\Z",
            description="Program and arguments that hear the same on standard input, without a "
            "shell. A unit of root's runs them. Empty: none.",
            extra={"allowed": 'an absolute path, then words with single spaces between, or ""'},
        ),
    ] = ""
    hook_command_s: Annotated[
        float, Meta(ge=0.1, le=60, description="How long one run of it may take.")
    ] = 10.0
