"""What `oborona doctor` says of our own name."""

from __future__ import annotations

from collections.abc import Iterator

from oborona.daemon.site_name import site_name
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.site import Site
from oborona.policy.local_clients import is_qualified


def name(context: Site) -> Iterator[CheckReport]:
    """Look at the name that stands in Authentication-Results, and that no stranger may greet us
    with.
    """
    site = site_name(context.loaded)
    if is_qualified(site):
        yield CheckReport(
            "name",
            CheckState.OK,
            f"{site}: our name in Authentication-Results; a client that uses it in HELO forges it",
        )
        return
    yield CheckReport(
        "name",
        CheckState.WARN,
        f"{site!r} is no public name: the milter listener uses the name that the mail server "
        f"gives, other listeners have none;"
        " set site.name to the host name of your MX",
    )
