"""Machines of one site, each with a policy folder, whose parts in the site's policy run here."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from oborona import secret, state_files
from oborona.daemon.site.membership import begin_site, join_site
from oborona.desk.configured_site import SiteSource
from oborona.desk.policy.site_policy_follower import SitePolicyFollower
from oborona.desk.site import Site
from oborona.replication.link import read_link
from tests.cli.journaled import LUNCH, journal
from tests.desk.policy.drafted import call, new_site
from tests.replication.machines import SECRET, following


class PolicyMachine:
    """One of them.

    Args:
        folder: with its policy and its state.
        ships: what its Oborona ships.

    Attributes:
        site: as its desk opens it.
        notices: of it.
    """

    def __init__(self, folder: Path, ships: str = "") -> None:
        folder.mkdir()
        made = new_site(folder, "write")
        self.policy, self.state = folder / "policy.d", folder / "state"
        journal(self.state, self.policy, [LUNCH])
        shipped = "none"
        if ships:
            (folder / "ships").mkdir()
            (folder / "ships/10-ships.toml").write_text(ships)
            shipped = str(folder / "ships")
        overrides = {**made.source.overrides, "paths.shipped_policy": shipped}
        self.notices: list[str] = []
        self.site = Site(SiteSource(made.source.file, overrides), self.notices.append)
        (self.state / state_files.SECRET).write_bytes(SECRET)
        secret.make(self.state)

    def files(self) -> dict[str, str]:
        """Return what its policy folder holds."""
        return {path.name: path.read_text() for path in self.policy.iterdir()}

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """Follow the log within, as its keeper does."""
        with following(self.state):
            yield

    @contextmanager
    def running(self) -> Iterator[SitePolicyFollower]:
        """Follow the site's policy within, too."""
        link = read_link(self.state)
        assert link is not None
        follower, stop = SitePolicyFollower(self.site, link), threading.Event()

        def run() -> None:
            while not stop.wait(0.05):
                follower.look()

        thread = threading.Thread(target=run)
        with self.keeping():
            thread.start()
            try:
                yield follower
            finally:
                stop.set()
                thread.join()
                follower.close()


def machines_of(root: Path, address: str, ships: tuple[str, ...] = ("", "")) -> list[PolicyMachine]:
    """Make machines that are one site, mx1 and so on; mx1 has shared nothing yet."""
    made = [PolicyMachine(root / f"mx{place}", text) for place, text in enumerate(ships, 1)]
    begin_site(made[0].state, address, "mx1", "1")
    for place, machine in enumerate(made[1:], 2):
        join_site(machine.state, address, f"mx{place}", "1")
    return made


@contextmanager
def sharing(machines: list[PolicyMachine]) -> Iterator[None]:
    """Run all of them within; the policy of the first is the site's."""
    with ExitStack() as stack:
        for machine in machines:
            stack.enter_context(machine.running())
        call(machines[0].site, "policy.share", reason="as it was here")
        yield
