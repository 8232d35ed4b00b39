"""What `oborona doctor` says of the feed: whether it is fetched, and still kept."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime

from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.feed.record import read_record
from oborona.desk.site import Site
from oborona.errors import StoreError


def feed(context: Site) -> Iterator[CheckReport]:
    """Look at what is known of the feed, if the settings name one."""
    if not context.loaded.settings.feed.url:
        return
    try:
        record = read_record(context.state)
    except StoreError as error:
        yield CheckReport("feed", CheckState.FAIL, str(error))
        return
    if record.refused:
        when = datetime.fromtimestamp(record.refused_at, UTC)
        yield CheckReport(
            "feed",
            CheckState.WARN,
            f"the update of {when:%Y-%m-%d %H:%M} UTC took nothing: {record.refused}",
            hint="oborona policy update tries again; what was in force stays meanwhile",
        )
        return
    if not record.highest:
        yield CheckReport(
            "feed", CheckState.WARN, "nothing was taken of it yet: `oborona policy update`"
        )
        return
    until = datetime.fromtimestamp(record.expires, UTC)
    words = f"version {record.highest} is the newest seen, good until {until:%Y-%m-%d}"
    if record.waiting is not None:
        words += f"; {record.waiting.version} is on trial"
    if record.expires > time.time():
        yield CheckReport("feed", CheckState.OK, words)
        return
    yield CheckReport(
        "feed",
        CheckState.WARN,
        f"{words}: no newer one was taken since; `oborona policy update` says why",
    )
