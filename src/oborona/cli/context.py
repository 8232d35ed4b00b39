"""The context of a command: the settings that the global options name, and the parts that commands
open with them.

Each part is imported where it is opened: a command loads only what it uses, and `--help` loads
nothing.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import msgspec

from oborona import state_files
from oborona.errors import StoreError
from oborona.types import Envelope

if TYPE_CHECKING:
    from oborona.config import LoadedSettings
    from oborona.daemon.reader.picture_queue import PictureQueue
    from oborona.policy.evidence import Inquiry
    from oborona.policy.folders import PolicyFolders
    from oborona.policy.load import Policy
    from oborona.policy.models.meaning import MeaningModel
    from oborona.policy.ports import CounterReader, Pictures
    from oborona.policy.scan import ScanSite
    from oborona.policy.signatures import SignatureBook
    from oborona.reputation.pins import PinTable
    from oborona.secret import SiteKeys
    from oborona.stores.final_model import FollowedFinalModel
    from oborona.stores.geoip import GeoIpDatabases

SYSTEM: Final = Path("/etc/oborona/oborona.toml")
PATIENCE_S: Final = 60.0  # for the pictures of one message
SHIPPED: Final = Path(__file__).resolve().parents[1] / "etc/oborona.toml"


class CliContext:
    """Settings as the command line asks for them, loaded on first use.

    Args:
        config: settings file; None = the system's, else the one that ships.
        state: state folder, None = as set.
        assignments: SECTION.KEY=VALUE each.
    """

    def __init__(
        self, config: Path | None, state: Path | None, assignments: tuple[str, ...]
    ) -> None:
        self._file = config or (SYSTEM if SYSTEM.exists() else SHIPPED)
        # without settings a site's rules are looked for where they would be with them
        self._beside = SYSTEM if config is None and self._file is SHIPPED else None
        self._overrides: dict[str, str] = {}
        for assignment in assignments:
            name, equals, value = assignment.partition("=")
            if not equals:
                raise click.BadParameter(
                    f"{assignment!r}: write SECTION.KEY=VALUE", param_hint="--set"
                )
            self._overrides[name.strip()] = value
        if state is not None:
            self._overrides["paths.state"] = str(state)
        self._loaded: LoadedSettings | None = None
        self._policy: Policy | None = None
        self._picture_queue: PictureQueue | None = (
            None  # while there are processes of our own that look
        )

    @property
    def loaded(self) -> LoadedSettings:
        """The settings in force."""
        from oborona.config import load_settings

        if self._loaded is None:
            self._loaded = load_settings(self._file, self._overrides, beside=self._beside)
        return self._loaded

    @property
    def state(self) -> Path:
        """The state folder."""
        return Path(self.loaded.settings.paths.state)

    @property
    def state_asked(self) -> Path | None:
        """The state folder as the command line names it; None = it does not."""
        folder = self._overrides.get("paths.state")
        return Path(folder) if folder is not None else None

    def under(self, policy: Path) -> CliContext:
        """Return the same settings with another policy folder of the site."""
        set_before = tuple(f"{name}={value}" for name, value in self._overrides.items())
        derived = CliContext(self._file, None, (*set_before, f"paths.policy={policy}"))
        derived._beside = self._beside
        return derived

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
        """The site's keys, or those of no site, with a word on standard error."""
        from oborona import secret

        try:
            return secret.load(self.state)
        except StoreError as error:
            click.echo(f"oborona: {error}; hashes are those of no site", err=True)
            return secret.UNKEYED

    def seen(self, envelope: Envelope) -> Envelope:
        """Return an envelope as the doors see it: a client in a network of the site is one of
        ours.
        """
        from oborona.reputation.networks import networks, plain

        address = plain(envelope.client.ip)
        own = address is not None and address in networks(self.loaded.settings.site.networks)
        return msgspec.structs.replace(envelope, own=own)

    @asynccontextmanager
    async def inquiries(self, *, dns: bool) -> AsyncIterator[Callable[[], Inquiry]]:
        """What makes the inquiry of each message: the DNS is asked as by the daemon, or nobody."""
        from oborona.daemon.site_name import site_name
        from oborona.policy.evidence import NoInquiry
        from oborona.session.lookups import DnsLookups

        if not dns:
            yield NoInquiry
            return
        asking = DnsLookups(self.loaded.settings, site_name(self.loaded))
        try:
            await asking.begin(self.policy())
            yield asking.inquirer
        finally:
            await asking.close()

    def places(self) -> GeoIpDatabases:
        """The databases of places; what is wrong with one is a word on standard error."""
        from oborona.stores.geoip import GeoIpDatabases

        places = GeoIpDatabases(self.loaded.settings.places)
        for error in places.errors.values():
            click.echo(f"oborona: {error}; places are not known by it", err=True)
        return places

    def final(self) -> FollowedFinalModel:
        """The final model in force; what is wrong with it is a word on standard error."""
        from oborona.policy.fact_table import SCHEMA
        from oborona.stores.final_model import FollowedFinalModel

        final = FollowedFinalModel.of_site(self.state, SCHEMA)
        final.look()
        if final.error is not None:
            click.echo(f"oborona: {final.error}; judged without it", err=True)
        return final

    def signatures(self) -> SignatureBook:
        """The signatures in force.

        Without the store those of the policy's files, with a word on standard error.
        """
        from oborona.policy.signatures import SignatureBook
        from oborona.stores.signatures.rows import SignatureState
        from oborona.stores.signatures.store import SignatureStore

        filed = list(self.policy().signatures.values())
        path = self.state / state_files.SIGNATURES
        if path.exists():
            try:
                with SignatureStore(path, make=False) as store:
                    filed += [stored.signature for stored in store.all(SignatureState.ACTIVE)]
            except StoreError as error:
                click.echo(f"oborona: {error}; judged without signatures of the store", err=True)
        return SignatureBook.of(filed)

    def pins(self) -> PinTable:
        """The pins in force; without their store none, with a word on standard error."""
        from oborona.reputation.pins import PinTable
        from oborona.stores.pins.store import PinStore

        path = self.state / state_files.PINS
        if path.exists():
            try:
                with PinStore(path, make=False) as store:
                    return PinTable(store.all(time.time()))
            except StoreError as error:
                click.echo(f"oborona: {error}; judged without manual overrides", err=True)
        return PinTable()

    @asynccontextmanager
    async def pictures(self) -> AsyncIterator[Pictures]:
        """Who looks at pictures for a tool: processes of its own, as the reader has them, and
        patience.
        """
        from oborona.daemon.reader.picture_client import LocalPictureReader, PictureClient
        from oborona.daemon.reader.picture_queue import PictureQueue, pool_plans
        from oborona.policy.pictures import NoPictures

        settings = self.loaded.settings.reader
        if not settings.enabled:
            yield NoPictures()
            return
        picture_queue = self._picture_queue = PictureQueue(
            pool_plans(settings), cache_entries=settings.cache_entries
        )
        try:
            yield PictureClient(
                LocalPictureReader(picture_queue), look_s=PATIENCE_S, read_s=PATIENCE_S
            )
        finally:
            self._picture_queue = None
            await picture_queue.close()

    def _meanings(self, final: FollowedFinalModel) -> MeaningModel:
        """Who says what texts mean: the processes that look at pictures, while there are any."""
        from oborona.daemon.reader.meaning import EncoderMeanings, LocalTextEncoder
        from oborona.daemon.reader.wire import ReaderTask
        from oborona.policy.models.meaning import NoMeaningModel

        if self._picture_queue is None or ReaderTask.MEAN not in self._picture_queue.pools:
            return NoMeaningModel()
        return EncoderMeanings(
            LocalTextEncoder(self._picture_queue), final.meaning, within_s=PATIENCE_S
        )

    @contextmanager
    def site(self, pictures: Pictures | None = None) -> Iterator[ScanSite]:
        """The parts of a scan that reads and counts nothing.

        Without a store every count is 0, with a word on standard error.

        Args:
            pictures: who looks at them; None = nobody.
        """
        from oborona.counters.memory import MemoryCounters
        from oborona.daemon.site_name import site_name
        from oborona.message.shingles import Hasher
        from oborona.policy.pictures import NoPictures
        from oborona.policy.scan import ScanSite
        from oborona.stores.content_model import FollowedContentModel
        from oborona.stores.counters import open_readonly
        from oborona.stores.persons.readonly import ReadOnlyPersons

        final = self.final()
        hasher = Hasher(self.keys().shingles)
        counters: CounterReader
        try:
            counters = stored = open_readonly(self.loaded.settings, self.state)
        except StoreError as error:
            click.echo(f"oborona: {error}; scored without counts", err=True)
            stored, counters = None, MemoryCounters()
        try:
            yield ScanSite(
                name=site_name(self.loaded),
                hasher=hasher,
                counters=counters,
                regions=tuple(self.loaded.settings.site.regions.split()),
                places=self.places(),
                pins=self.pins(),
                signatures=self.signatures(),
                content=FollowedContentModel(
                    self.state / state_files.WEIGHTS,
                    least=self.loaded.settings.learning.min_learned,
                ),
                final=final,
                meanings=self._meanings(final),
                persons=ReadOnlyPersons(
                    self.state / state_files.PERSONS,
                    lambda error: click.echo(
                        f"oborona: {error}; judged without lists of recipients", err=True
                    ),
                ),
                pictures=pictures or NoPictures(),
            )
        finally:
            if stored is not None:
                stored.close()


pass_cli_context = click.make_pass_decorator(CliContext)
