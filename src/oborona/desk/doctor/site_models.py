"""What `oborona doctor` says of the final models of a site of several machines: has this one the
same as the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from oborona import state_files
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.models.final_models import moment
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.stores.site_models.level import coming_files, is_common, unlevel_files
from oborona.stores.site_models.store import SiteModelStore

WHAT: Final = "models of all"


def site_models(context: Site) -> Iterator[CheckReport]:
    """Compare the final models here with those of the site; a machine alone has none."""
    try:
        if not is_common(context.state):
            return
        path = context.state / state_files.SITE_MODELS
        with context.as_owner(), SiteModelStore(path, make=False) as store:
            standing, unlevel = store.standing(), unlevel_files(context.state, store)
            coming_files(store, unlevel)
    except StoreError as error:
        yield CheckReport(WHAT, CheckState.WARN, f"{error}; those here stay in force")
        return
    if standing is None:
        yield CheckReport(WHAT, CheckState.OK, "no machine has brought any yet")
    elif unlevel:
        yield CheckReport(
            WHAT,
            CheckState.WARN,
            f"not taken here yet: {', '.join(unlevel)}",
            "oborona serve, or oborona keeper, takes them",
        )
    else:
        since = f"since {moment(standing.at)}, by {standing.machine}"
        yield CheckReport(WHAT, CheckState.OK, f"what the site has, {since}")
