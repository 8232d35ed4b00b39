"""An update that is killed: the old files or the new ones, whole, and the next run ends it."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import msgspec

from oborona.desk.feed.feed_site import feed_versions
from oborona.desk.feed.record import read_record, write_record
from oborona.desk.feed.roll_back import roll_back_feed
from oborona.stores.policy_versions.store import VersionState
from tests.desk.feed.fed import MILDER, NEW, FedSite
from tests.desk.policy.drafted import person


def test_killed_at_any_point_the_old_or_the_new_is_in_force_whole(tmp_path: Path) -> None:
    """And the next run ends what the killed one began."""
    fed = FedSite(tmp_path)
    fed.offer({"10.toml": MILDER, "20.toml": NEW}, version=1)
    fed.update()
    old = fed.held()
    undo = 2
    fed.offer({"10.toml": MILDER.replace("30", "20"), "30.toml": NEW}, version=2)
    steps = _killed(fed, 1 << 30)
    new = fed.held()
    assert new != old
    assert steps > 20
    seen = set[bool]()
    for at in range(1, steps, max(1, steps // 8)):
        roll_back_feed(fed.site, person(), undo, "again", sure=False, dry=False)
        write_record(fed.state, msgspec.structs.replace(read_record(fed.state), held=0))
        assert fed.held() == old
        _killed(fed, at)
        found = fed.held()
        assert found in (old, new), at
        seen.add(found == new)
        assert fed.scores()["LINKS"] in (30, 20)
        fed.update()
        assert (fed.held(), read_record(fed.state).live) == (new, 2), at
        with feed_versions(fed.site) as store:
            assert all(version.state is not VersionState.BEGUN for version in store.list(50))
    assert seen == {True, False}


def _killed(fed: FedSite, at: int) -> int:
    """Update in a process of its own that is killed at its so many-th touch of the state folder;
    return how many there were.
    """
    counted, told = os.pipe()
    child = os.fork()
    if child == 0:
        count = 0

        def touch(event: str, details: tuple[Any, ...]) -> None:
            nonlocal count
            if event in {"open", "os.rename", "os.remove", "os.mkdir", "os.link", "os.rmdir"}:
                count += str(details[0]).startswith(str(fed.state))
                if count >= at:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(touch)
        try:
            fed.update()
        finally:
            os.write(told, b"%d" % count)
            os._exit(0)
    os.close(told)
    with os.fdopen(counted, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == (0 if said else -signal.SIGKILL)
    return int(said or 0)
