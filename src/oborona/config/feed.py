"""Settings of the feed."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta


class FeedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Rules between releases: a folder of signed policy files that `oborona policy update` fetches
    (docs/policy/feed.md).
    """

    url: Annotated[
        str,
        Meta(
            pattern=r"\A((https://[!-~]+)|(file:///[!-~]+))?\Z",
            max_length=2000,
            description="The folder that the feed lies in. Empty: there is none.",
            extra={"allowed": 'a URL that begins with https:// or file:///, or ""'},
        ),
    ] = ""
    key: Annotated[
        str,
        Meta(
            pattern=r"\A([A-Za-z0-9+/]{56}( |\Z))*\Z",
            max_length=1000,
            description=(
                "Public keys of minisign, with spaces between: what none of them has signed is "
                "refused."
            ),
            extra={"allowed": "56 characters each, single spaces between"},
        ),
    ] = ""
    shadow_days: Annotated[
        float,
        Meta(
            ge=0,
            le=90,
            description=(
                "A new version is tried in shadow mode for so long before it judges. 0: it "
                "judges at once."
            ),
        ),
    ] = 3.0
    deadline_s: Annotated[
        float,
        Meta(ge=1, le=3600, description="All files of a version are fetched within this."),
    ] = 300.0
