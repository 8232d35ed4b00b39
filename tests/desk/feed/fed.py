"""A site with a small policy that ships, a feed over it, and whoever signs that."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from typing import Any

import msgspec

from oborona import state_files
from oborona.desk.configured_site import SiteSource
from oborona.desk.feed.feed_maker import FeedOrder, make_feed
from oborona.desk.feed.manifest import CONTENTS, MANIFEST, SIGNATURE, FeedManifest
from oborona.desk.feed.minisign import FeedSigner, sign
from oborona.desk.feed.record import read_record
from oborona.desk.feed.update import update_feed
from oborona.desk.feed.work import FeedUpdate
from oborona.desk.policy.file_set import read_folder
from oborona.desk.site import Site
from tests.cli.journaled import LINES, LINKS, WORDS
from tests.desk.policy.drafted import person

MAKER = FeedSigner(b"a number", bytes(range(32)))
OTHER = FeedSigner(b"a second", bytes(32))
MILDER = LINES + LINKS.replace("60", "30") + WORDS
NEW = '[[rule]]\nname = "NEW"\nwhen = "links > 2"\nscore = 5\n'


class FedSite:
    """A site, the folder of its feed, and that feed's files.

    Args:
        folder: for all of it.
        settings: of the feed, beside its place and key.
    """

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self.feed = folder / "feed"
        self.state = folder / "state"
        for name in ("shipped", "policy.d", "made", "state", "eventlog.d"):
            (folder / name).mkdir()
        (folder / "shipped/10.toml").write_text(LINES + LINKS + WORDS)
        (folder / "oborona.toml").touch()
        self.site = self.sited(**settings)

    def sited(self, **settings: str) -> Site:
        """Return the site with other settings of the feed."""
        given = {"url": f"file://{self.feed}", "key": MAKER.key.text, "shadow_days": "0"} | settings
        paths = {
            "state": self.state,
            "policy": self.folder / "policy.d",
            "shipped_policy": self.folder / "shipped",
            "event_logs": self.folder / "eventlog.d",
        }
        overrides = {f"paths.{name}": str(path) for name, path in paths.items()}
        overrides |= {f"feed.{name}": value for name, value in given.items()}
        return Site(SiteSource(self.folder / "oborona.toml", overrides), lambda _: None)

    def offer(
        self, files: dict[str, str], signer: FeedSigner = MAKER, **order: Any
    ) -> FeedManifest:
        """Put a version of the feed there."""
        for path in (self.folder / "made").iterdir():
            path.unlink()
        for name, text in files.items():
            (self.folder / "made" / name).write_text(text)
        return make_feed(
            self.folder / "made",
            self.feed,
            signer,
            FeedOrder(**{"days": 1, **order}),
            self.folder / "shipped",
        )

    def offer_raw(self, made: dict[str, bytes], /, **said: Any) -> None:
        """Put there what no maker of ours would: it is signed all the same."""
        now = int(time.time())
        manifest: dict[str, Any] = {
            "format": 1,
            "version": 7,
            "made": now,
            "expires": now + 3600,
            "files": {
                name: {"sha256": hashlib.sha256(raw).hexdigest(), "size": len(raw)}
                for name, raw in made.items()
            },
        }
        (self.feed / CONTENTS).mkdir(parents=True, exist_ok=True)
        for raw in made.values():
            (self.feed / CONTENTS / hashlib.sha256(raw).hexdigest()).write_bytes(raw)
        self.sign(json.dumps(manifest | said).encode())

    def sign(self, raw: bytes, signer: FeedSigner = MAKER) -> None:
        """Put a manifest there, signed."""
        (self.feed / MANIFEST).write_bytes(raw)
        (self.feed / SIGNATURE).write_bytes(sign(raw, signer, "here"))

    def update(self, **how: bool) -> FeedUpdate:
        """Take what the feed offers."""
        return update_feed(self.site, person(), **how)

    def held(self) -> dict[str, bytes]:
        """Return the files of the feed that are in force."""
        return read_folder(self.state / state_files.FEED_POLICY)

    def everything(self) -> tuple[Any, ...]:
        """Return all that a feed which is refused must leave as it is."""
        record = msgspec.structs.replace(
            read_record(self.state), highest=0, manifest="", expires=0, refused="", refused_at=0.0
        )
        return self.held(), record, read_folder(self.state / state_files.FEED_WAITING)

    def scores(self) -> dict[str, float]:
        """Return what the rules that are live score."""
        fresh = Site(self.site.source, lambda _: None)
        return {
            rule.name: float(rule.score) for rule in fresh.policy().rules if rule.mode == "live"
        }
