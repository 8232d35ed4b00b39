"""A site as commands, API and pages open it: its settings, its state folder, its policy, its keys.

Each part is imported where it is opened: a command loads only what it uses, and `--help` loads
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from oborona.errors import StoreError
from oborona.types import Envelope

if TYPE_CHECKING:
    from oborona.config import LoadedSettings
    from oborona.journal.words.day_files import DayFiles
    from oborona.policy.folders import PolicyFolders
    from oborona.policy.load import Policy
    from oborona.secret import SiteKeys


class SiteSource(NamedTuple):
    """Where the settings of a site come from."""

    file: Path
    overrides: Mapping[str, str] = MappingProxyType({})  # SECTION.KEY → value, before the file
    beside: Path | None = None  # settings file that a site's rules are looked for beside; None: it


class ConfiguredSite:
    """What of a site its settings say, loaded on first use.

    Args:
        source: of its settings.
        notice: gets what is wrong and does not stop what was asked for, in one line.
    """

    def __init__(self, source: SiteSource, notice: Callable[[str], None]) -> None:
        self.source = source
        self.notice = notice
        self._loaded: LoadedSettings | None = None
        self._policy: Policy | None = None
        self._name: str | None = None

    @property
    def loaded(self) -> LoadedSettings:
        """The settings in force."""
        from oborona.config import load_settings

        if self._loaded is None:
            file, overrides, beside = self.source
            self._loaded = load_settings(file, overrides, beside=beside)
        return self._loaded

    @property
    def name(self) -> str:
        """The name that headers, ids and reports of the site carry; told once, as it may ask the
        DNS.
        """
        from oborona.daemon.site_name import site_name

        if self._name is None:
            self._name = site_name(self.loaded)
        return self._name

    @property
    def state(self) -> Path:
        """The state folder."""
        return Path(self.loaded.settings.paths.state)

    @property
    def state_asked(self) -> Path | None:
        """The state folder as the command line names it; None = it does not."""
        folder = self.source.overrides.get("paths.state")
        return Path(folder) if folder is not None else None

    @property
    def search_files(self) -> DayFiles:
        """Who opens the search files of the journal: each search has its own."""
        from oborona.journal.words.day_files import DayFiles

        return DayFiles()

    def as_owner(self) -> AbstractContextManager[None]:
        """Go on within as the owner of the state folder, who has to be able to open what is made
        there, if root asks; a daemon is that owner.
        """
        from oborona.desk.owner import as_owner_of

        return as_owner_of(self.state)

    @property
    def policy_folders(self) -> PolicyFolders:
        """The policy folders."""
        from oborona.stores.policy_folders import policy_folders

        return policy_folders(self.loaded.settings.paths)

    def policy(self) -> Policy:
        """The policy, checked; loaded once, so that a command works with one policy throughout."""
        from oborona.policy.fact_table import SCHEMA
        from oborona.policy.load import load_policy

        if self._policy is None:
            self._policy = load_policy(self.policy_folders, SCHEMA)
        return self._policy

    def whole_policy(self) -> Policy:
        """The policy, checked; the rules over logs of others, too, as the site declares these.

        Raises:
            ConfigError: a log is not declared as it must be.
            PolicyError: the policy can't be used, or has rules over a log that is not declared.
        """
        from oborona.eventlog.declared_log import read_logs
        from oborona.eventlog.ruled_logs import as_ruled
        from oborona.eventlog.schema import OWN_NAMES
        from oborona.policy.fact_table import SCHEMA
        from oborona.policy.load import load_policy

        declared = read_logs(Path(self.loaded.settings.paths.event_logs), OWN_NAMES)
        logs = [as_ruled(log.schema) for log in declared]
        self._policy = load_policy(self.policy_folders, SCHEMA, logs=logs)
        self._policy.events.refuse_unchecked()
        return self._policy

    def keys(self) -> SiteKeys:
        """The site's keys, or those of no site, with a notice."""
        from oborona import secret

        try:
            return secret.load(self.state)
        except StoreError as error:
            self.notice(f"{error}; hashes are those of no site")
            return secret.UNKEYED

    def seen(self, envelope: Envelope) -> Envelope:
        """Return an envelope as the doors see it: a client in a network of the site is one of
        ours.
        """
        from oborona.reputation.networks import networks, plain

        address = plain(envelope.client.ip)
        own = address is not None and address in networks(self.loaded.settings.site.networks)
        return msgspec.structs.replace(envelope, own=own)
