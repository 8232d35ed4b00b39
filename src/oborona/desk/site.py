"""A site as commands, API and pages judge with it: what its stores hold, the parts of a scan."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from oborona import state_files
from oborona.desk.configured_site import ConfiguredSite
from oborona.errors import StoreError

if TYPE_CHECKING:
    from oborona.daemon.reader.picture_queue import PictureQueue
    from oborona.policy.evidence import Inquiry
    from oborona.policy.models.meaning import MeaningModel
    from oborona.policy.ports import CounterReader, Pictures
    from oborona.policy.scan import ScanSite
    from oborona.policy.signatures import SignatureBook
    from oborona.reputation.pins import PinTable
    from oborona.stores.final_model import FollowedFinalModel
    from oborona.stores.geoip import GeoIpDatabases

PATIENCE_S: Final = 60.0  # for the pictures of one message


class Site(ConfiguredSite):
    """A site, whose stores are opened when they are asked for.

    What one of them lacks is a notice, and the rest goes on without it.
    """

    # processes of our own that look at pictures, while there are any
    _picture_queue: PictureQueue | None = None

    def under(self, policy: Path) -> Site:
        """Return the same site with another policy folder of its own."""
        overrides = {**self.source.overrides, "paths.policy": str(policy)}
        return Site(self.source._replace(overrides=overrides), self.notice)

    @asynccontextmanager
    async def inquiries(self, *, dns: bool) -> AsyncIterator[Callable[[], Inquiry]]:
        """What makes the inquiry of each message: the DNS is asked as by the daemon, or nobody."""
        from oborona.policy.evidence import NoInquiry
        from oborona.session.lookups import DnsLookups

        if not dns:
            yield NoInquiry
            return
        asking = DnsLookups(self.loaded.settings, self.name)
        try:
            await asking.begin(self.policy())
            yield asking.inquirer
        finally:
            await asking.close()

    def places(self) -> GeoIpDatabases:
        """The databases of places; what is wrong with one is a notice."""
        from oborona.stores.geoip import GeoIpDatabases

        places = GeoIpDatabases(self.loaded.settings.places)
        for error in places.errors.values():
            self.notice(f"{error}; places are not known by it")
        return places

    def final(self) -> FollowedFinalModel:
        """The final model in force; what is wrong with it is a notice."""
        from oborona.policy.fact_table import SCHEMA
        from oborona.stores.final_model import FollowedFinalModel

        final = FollowedFinalModel.of_site(self.state, SCHEMA)
        final.look()
        if final.error is not None:
            self.notice(f"{final.error}; judged without it")
        return final

    def signatures(self) -> SignatureBook:
        """The signatures in force.

        Without the store those of the policy's files, with a notice.
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
                self.notice(f"{error}; judged without signatures of the store")
        return SignatureBook.of(filed)

    def pins(self) -> PinTable:
        """The pins in force; without their store none, with a notice."""
        from oborona.reputation.pins import PinTable
        from oborona.stores.pins.store import PinStore

        path = self.state / state_files.PINS
        if path.exists():
            try:
                with PinStore(path, make=False) as store:
                    return PinTable(store.all(time.time()))
            except StoreError as error:
                self.notice(f"{error}; judged without manual overrides")
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

        Without a store every count is 0, with a notice.

        Args:
            pictures: who looks at them; None = nobody.
        """
        from oborona.counters.memory import MemoryCounters
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
            self.notice(f"{error}; scored without counts")
            stored, counters = None, MemoryCounters()
        try:
            yield ScanSite(
                name=self.name,
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
                    lambda error: self.notice(f"{error}; judged without lists of recipients"),
                ),
                pictures=pictures or NoPictures(),
            )
        finally:
            if stored is not None:
                stored.close()
