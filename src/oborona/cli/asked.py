"""What the options before the command ask for: which settings, and the parts that commands open
with them.

Each part is imported where it is opened: a command costs what it uses, and `--help` nothing of all
this.
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
    from oborona.config import Loaded
    from oborona.daemon.reader.desk import Desk
    from oborona.policy.evidence import Inquiry
    from oborona.policy.folders import Folders
    from oborona.policy.load import Policy
    from oborona.policy.models.meaning import Meanings
    from oborona.policy.ports import CounterReader, Pictures
    from oborona.policy.scan import Site
    from oborona.policy.signatures import Book
    from oborona.reputation.pins import Book as PinBook
    from oborona.secret import Keys
    from oborona.stores.final_model import FollowedFinal
    from oborona.stores.geoip import Places

SYSTEM: Final = Path("/etc/oborona/oborona.toml")
PATIENCE_S: Final = 60.0  # for the pictures of one message
SHIPPED: Final = Path(__file__).resolve().parents[1] / "etc/oborona.toml"


class Asked:
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
        self._loaded: Loaded | None = None
        self._policy: Policy | None = None
        self._desk: Desk | None = None  # while there are processes of our own that look

    @property
    def loaded(self) -> Loaded:
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
        asked = self._overrides.get("paths.state")
        return Path(asked) if asked is not None else None

    def under(self, policy: Path) -> Asked:
        """Return the same settings with another policy folder of the site."""
        set_before = tuple(f"{name}={value}" for name, value in self._overrides.items())
        other = Asked(self._file, None, (*set_before, f"paths.policy={policy}"))
        other._beside = self._beside
        return other

    @property
    def policy_folders(self) -> Folders:
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

    def keys(self) -> Keys:
        """The site's keys, or those of no site, with a word on standard error."""
        from oborona import secret

        try:
            return secret.load(self.state)
        except StoreError as error:
            click.echo(f"oborona: {error}; hashes are those of no site", err=True)
            return secret.UNKEYED

    def seen(self, told: Envelope) -> Envelope:
        """Return an envelope as the doors see it: a client in a network of the site is one of
        ours.
        """
        from oborona.reputation.networks import networks, plain

        address = plain(told.client.ip)
        own = address is not None and address in networks(self.loaded.settings.site.networks)
        return msgspec.structs.replace(told, own=own)

    @asynccontextmanager
    async def inquiries(self, *, dns: bool) -> AsyncIterator[Callable[[], Inquiry]]:
        """What makes the inquiry of each message: the DNS is asked as by the daemon, or nobody."""
        from oborona.daemon.site_name import site_name
        from oborona.policy.evidence import Silence
        from oborona.session.lookups import Asking

        if not dns:
            yield Silence
            return
        asking = Asking(self.loaded.settings, site_name(self.loaded))
        try:
            await asking.begin(self.policy())
            yield asking.inquirer
        finally:
            await asking.close()

    def places(self) -> Places:
        """The databases of places; what is wrong with one is a word on standard error."""
        from oborona.stores.geoip import Places

        places = Places(self.loaded.settings.places)
        for error in places.errors.values():
            click.echo(f"oborona: {error}; places are not known by it", err=True)
        return places

    def final(self) -> FollowedFinal:
        """The final model in force; what is wrong with it is a word on standard error."""
        from oborona.policy.fact_table import SCHEMA
        from oborona.stores.final_model import FollowedFinal

        final = FollowedFinal(self.state / state_files.FINAL_MODEL, SCHEMA)
        final.look()
        if final.error is not None:
            click.echo(f"oborona: {final.error}; judged without the final model", err=True)
        return final

    def signatures(self) -> Book:
        """The signatures in force.

        Without the store those of the policy's files, with a word on standard error.
        """
        from oborona.policy.signatures import Book
        from oborona.stores.signatures.rows import State
        from oborona.stores.signatures.store import Store

        found = list(self.policy().signatures.values())
        path = self.state / state_files.SIGNATURES
        if path.exists():
            try:
                with Store(path, make=False) as store:
                    found += [one.signature for one in store.all(State.ACTIVE)]
            except StoreError as error:
                click.echo(f"oborona: {error}; judged without signatures of the store", err=True)
        return Book.of(found)

    def pins(self) -> PinBook:
        """The pins in force; without their store none, with a word on standard error."""
        from oborona.reputation.pins import Book
        from oborona.stores.pins.store import Store

        path = self.state / state_files.PINS
        if path.exists():
            try:
                with Store(path, make=False) as store:
                    return Book(store.all(time.time()))
            except StoreError as error:
                click.echo(f"oborona: {error}; judged without manual overrides", err=True)
        return Book()

    @asynccontextmanager
    async def pictures(self) -> AsyncIterator[Pictures]:
        """Who looks at pictures for a tool: processes of its own, as the reader has them, and
        patience.
        """
        from oborona.daemon.reader.desk import Desk, plans
        from oborona.daemon.reader.eyes import Eyes, Nearby
        from oborona.policy.pictures import Blind

        settings = self.loaded.settings.reader
        if not settings.enabled:
            yield Blind()
            return
        desk = self._desk = Desk(plans(settings), cache_entries=settings.cache_entries)
        try:
            yield Eyes(Nearby(desk), look_s=PATIENCE_S, read_s=PATIENCE_S)
        finally:
            self._desk = None
            await desk.close()

    def _meanings(self, final: FollowedFinal) -> Meanings:
        """Who says what texts mean: the processes that look at pictures, while there are any."""
        from oborona.daemon.reader.frames import Task
        from oborona.daemon.reader.meaning import Meanings as EncodedMeanings
        from oborona.daemon.reader.meaning import NearbyEncoder
        from oborona.policy.models.meaning import Silent

        if self._desk is None or Task.MEAN not in self._desk.pools:
            return Silent()
        return EncodedMeanings(NearbyEncoder(self._desk), final.meaning, within_s=PATIENCE_S)

    @contextmanager
    def site(self, pictures: Pictures | None = None) -> Iterator[Site]:
        """The parts of a scan that reads and counts nothing.

        Without a store every count is 0, with a word on standard error.

        Args:
            pictures: who looks at them; None = nobody.
        """
        from oborona.counters.memory import MemoryCounters
        from oborona.daemon.site_name import site_name
        from oborona.message.shingles import Hasher
        from oborona.policy.pictures import Blind
        from oborona.policy.scan import Site
        from oborona.stores.content_model import Taught
        from oborona.stores.counters import open_stored
        from oborona.stores.persons.asked import AskedPersons

        final = self.final()
        hasher = Hasher(self.keys().shingles)
        counters: CounterReader
        try:
            counters = stored = open_stored(self.loaded.settings, self.state)
        except StoreError as error:
            click.echo(f"oborona: {error}; scored without counts", err=True)
            stored, counters = None, MemoryCounters()
        try:
            yield Site(
                name=site_name(self.loaded),
                hasher=hasher,
                counters=counters,
                regions=tuple(self.loaded.settings.site.regions.split()),
                places=self.places(),
                pins=self.pins(),
                signatures=self.signatures(),
                content=Taught(
                    self.state / state_files.WEIGHTS,
                    least=self.loaded.settings.learning.min_learned,
                ),
                final=final,
                meanings=self._meanings(final),
                persons=AskedPersons(
                    self.state / state_files.PERSONS,
                    lambda error: click.echo(
                        f"oborona: {error}; judged without lists of recipients", err=True
                    ),
                ),
                pictures=pictures or Blind(),
            )
        finally:
            if stored is not None:
                stored.close()


pass_asked = click.make_pass_decorator(Asked)
