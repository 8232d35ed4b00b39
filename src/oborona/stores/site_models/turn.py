"""Which machine of a site trains its final model: the one that has the site's lock `trainer`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from oborona.errors import StoreError
from oborona.replication.link import read_link
from oborona.stores.site_models.level import is_common

if TYPE_CHECKING:
    from oborona.replication.log import ReplicationLog

LOCK: Final = "trainer"


def training_waits(state: Path) -> str:
    """Return why no final model is trained on this machine now; empty = it may be.

    Raises:
        StoreError: nobody can know whether the machine is alone.
    """
    link = read_link(state)
    if link is None or not is_common(state):
        return ""
    # of those alone who have several machines
    from oborona.replication.log_pool import pooled_log  # noqa: PLC0415
    from oborona.replication.site_lock import lock_holder  # noqa: PLC0415

    try:
        with pooled_log(link) as log:
            log.check(link.site)
            holder = lock_holder(log, LOCK)
    except StoreError as error:
        return f"nobody can know which machine trains: {error}"
    if holder == link.machine:
        return ""
    if not holder:
        return "no machine of the site trains now"
    return f"{holder} trains for all machines of the site"


def check_training_turn(log: ReplicationLog) -> None:
    """Look, within a turn that writes, whether this machine still trains for its site.

    Raises:
        LockLostError: it does not.
    """
    from oborona.replication.site_lock import check_holder  # noqa: PLC0415

    with log.connected() as db:
        check_holder(db, LOCK, log.machine)
