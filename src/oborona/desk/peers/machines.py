"""Who trusts whom among a site's machines, as the settings say: built at the start of a desk."""

from __future__ import annotations

from pathlib import Path

from oborona.desk.call_runner import CallRunner
from oborona.desk.call_threads import CallThreads
from oborona.desk.calls import CALLS
from oborona.desk.peers.far_door import FarDoor
from oborona.desk.peers.identity import known_desks, own_identity, tls_context
from oborona.desk.peers.relay import DeskRelay, open_relay
from oborona.desk.peers.voucher import VoucherBook
from oborona.desk.site import Site


class MachineTrust:
    """Of one machine.

    Args:
        site: whose settings say it; its state folder has the desk's own key, or gets it.

    Raises:
        StoreError: the key can't be read or made.
    """

    def __init__(self, site: Site) -> None:
        self._name = site.name
        self._console = site.loaded.settings.console
        self._own = own_identity(site.state, site.name)

    def check(self) -> None:
        """Look at all that the settings name.

        Raises:
            ConfigError: what can't be used.
        """
        self.relay()
        if self._console.far_address is not None:
            known_desks(Path(self._console.home_certificate))

    def relay(self) -> DeskRelay | None:
        """Return who asks other machines; None: there are none.

        Raises:
            ConfigError: the certificate of one can't be used.
        """
        others = self._console.other_desks
        folder = self._console.desk_certificates
        return open_relay(self._own, self._name, others, folder) if others else None

    def far_door(self, runner: CallRunner, threads: CallThreads) -> FarDoor | None:
        """Return the door for other machines; None: there is none.

        Args:
            runner: of calls.
            threads: that calls run on.

        Raises:
            ConfigError: the certificates of home desks can't be used.
        """
        if self._console.far_address is None:
            return None
        homes = Path(self._console.home_certificate)
        return FarDoor(
            runner,
            VoucherBook(known_desks(homes), self._own.mark),
            calls=CALLS,
            threads=threads,
            tls=tls_context(self._own, homes, serves=True),
            allowed=self._console.desk_allowed,
        )
