"""What a feed offers: its manifest, held to the keys and to what was seen before, and its files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

from oborona.config.feed import FeedSettings
from oborona.desk.call import CallError
from oborona.desk.feed.manifest import (
    CONTENTS,
    MANIFEST,
    MOST_MANIFEST,
    SIGNATURE,
    FeedManifest,
    read_manifest,
)
from oborona.desk.feed.minisign import MOST_SIGNATURE, FeedKey, check_signature, read_key
from oborona.desk.feed.record import FeedRecord
from oborona.desk.feed.source import FeedSource
from oborona.stores.policy_versions.digests import FileSet, digest_of


class FeedOffer(msgspec.Struct, frozen=True, kw_only=True):
    """A manifest that may be believed.

    Args:
        source: where its files lie.
        manifest: it.
        digest: SHA-256 of its file.
        key: that has signed it.
    """

    source: FeedSource
    manifest: FeedManifest
    digest: str
    key: str

    def seen(self, record: FeedRecord, settings: FeedSettings) -> FeedRecord:
        """Return what is known once this was seen.

        Raises:
            CallError: something newer was seen, or something else of this version.
        """
        version = self.manifest.version
        if version < record.highest:
            raise CallError(
                f"the feed offers version {version}, and {record.highest} was seen before: it "
                f"never goes back"
            )
        if version == record.highest and self.digest != record.manifest:
            raise CallError(
                f"the feed offers another version {version} than before: a version is one thing"
            )
        record = msgspec.structs.replace(
            record, highest=version, manifest=self.digest, expires=self.manifest.expires
        )
        # only keys of the settings vouch for others: who takes one out there is rid of both
        if self.key in settings.key.split() and self.manifest.next_key:
            return msgspec.structs.replace(
                record, next_key=read_key(self.manifest.next_key).text, voucher=self.key
            )
        return record

    def files(self, known: Iterable[FileSet]) -> dict[str, bytes]:
        """Return the files, of which those that are known are not fetched again.

        Raises:
            CallError: one is not what the manifest says.
            PeerError: the server does not answer, or not in time.
        """
        here = {digest_of(raw): raw for files in known for raw in files.values()}
        return {
            name: here.get(file.sha256) or self._fetched(name, file.sha256, file.size)
            for name, file in sorted(self.manifest.files.items())
        }

    def _fetched(self, name: str, digest: str, size: int) -> bytes:
        raw = self.source.fetch(f"{CONTENTS}/{digest}", size)
        if len(raw) != size or digest_of(raw) != digest:
            raise CallError(f"{name} is not what the feed's manifest says: {len(raw):,} octets")
        return raw


def trusted_keys(settings: FeedSettings, record: FeedRecord) -> list[FeedKey]:
    """Return the keys that may sign.

    Raises:
        CallError: there is none.
    """
    texts = settings.key.split()
    if not texts:
        raise CallError("feed.key is empty: without a key nothing of a feed can be believed")
    if record.next_key and record.voucher in texts and record.next_key not in texts:
        texts.append(record.next_key)
    return [read_key(text) for text in texts]


def fetch_offer(settings: FeedSettings, record: FeedRecord) -> FeedOffer:
    """Return what the feed offers now.

    Raises:
        CallError: there is no feed, or what it offers can't be believed.
        PeerError: its server does not answer.
    """
    if not settings.url:
        raise CallError("there is no feed: feed.url names none (docs/policy/feed.md)")
    keys = trusted_keys(settings, record)
    source = FeedSource(settings.url, settings.deadline_s)
    raw = source.fetch(MANIFEST, MOST_MANIFEST)
    key = check_signature(raw, source.fetch(SIGNATURE, MOST_SIGNATURE), keys)
    return FeedOffer(
        source=source,
        manifest=read_manifest(raw),
        digest=hashlib.sha256(raw).hexdigest(),
        key=key.text,
    )
