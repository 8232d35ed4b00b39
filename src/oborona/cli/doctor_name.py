"""What `oborona doctor` says of our own name."""

from __future__ import annotations

from collections.abc import Iterator

from oborona.cli.asked import Asked
from oborona.cli.report import Report, State
from oborona.daemon.site_name import site_name
from oborona.policy.own import is_qualified


def name(asked: Asked) -> Iterator[Report]:
    """Look at the name that stands in Authentication-Results, and that no stranger may greet us
    with.
    """
    found = site_name(asked.loaded)
    if is_qualified(found):
        yield Report(
            "name",
            State.OK,
            f"{found}: our name in Authentication-Results; a client that uses it in HELO forges it",
        )
        return
    yield Report(
        "name",
        State.WARN,
        f"{found!r} is no public name: the milter listener uses the name that the mail server "
        f"gives, other listeners have none;"
        " set site.name to the host name of your MX",
    )
