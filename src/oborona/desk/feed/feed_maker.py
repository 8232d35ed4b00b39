"""A feed is made: a folder of policy files becomes a signed version in a folder that any server
gives out.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import msgspec

from oborona import __version__
from oborona.atomic_file import write_atomically
from oborona.desk.call import CallError
from oborona.desk.feed.manifest import (
    CONTENTS,
    MANIFEST,
    MOST_MANIFEST,
    SIGNATURE,
    FeedFile,
    FeedManifest,
    read_manifest,
)
from oborona.desk.feed.minisign import FeedSigner, sign
from oborona.desk.policy.file_set import read_folder, read_plain
from oborona.desk.policy.lint import failed_tests
from oborona.errors import StoreError
from oborona.policy.fact_table import SCHEMA
from oborona.policy.folders import PACKAGED, PolicyFolders
from oborona.policy.load import load_policy
from oborona.stores.policy_versions.digests import FileSet, digest_of

_DAY_S: Final = 86_400


class FeedOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What a version is to say beside its files; see `FeedManifest`.

    Args:
        days: for which it may be taken.
        version: 0 = the one before and one more, or the time as YYYYMMDDhhmm if that is higher.
        oborona: the oldest program that can use it.
        withdrawn: earlier versions that must not come into force any more.
        next_key: a further key.
        notes: what is new.
    """

    days: float
    version: int = 0
    oborona: str = "0"
    withdrawn: tuple[int, ...] = ()
    next_key: str = ""
    notes: str = ""


def make_feed(
    policy: Path, to: Path, signer: FeedSigner, order: FeedOrder, shipped: Path = PACKAGED
) -> FeedManifest:
    """Write a version of a feed: contents first, what names them last.

    Args:
        policy: folder of its files.
        to: folder of the feed; it is made where it is missing.
        signer: signs it.
        order: what else it says.
        shipped: the policy over which the files are checked.

    Raises:
        PolicyError: a file is wrong.
        CallError: a test fails, or what is there already is newer.
        StoreError: it can't be read or written.
    """
    files = read_folder(policy, links=False)
    if not files:
        raise CallError(f"{policy} holds no policy file")
    manifest = _manifest(files, _version_there(to), order)
    loaded = load_policy(PolicyFolders(shipped=shipped, feed=policy), SCHEMA)
    _, failed = failed_tests(loaded)
    if failed:
        raise CallError(f"tests of rules fail: {failed[0].file}: {failed[0].message}")
    raw = msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"
    read_manifest(raw)  # who would refuse it hears so before anybody can fetch it
    if len(raw) > MOST_MANIFEST:
        raise CallError(f"{MANIFEST} would have {len(raw):,} octets; at most {MOST_MANIFEST:,}")
    comment = f"feed version {manifest.version}"
    try:
        (to / CONTENTS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{error.filename or to}: {error.strerror}") from error
    for content in files.values():
        path = to / CONTENTS / digest_of(content)
        if not path.exists():
            write_atomically(path, content)
    write_atomically(to / SIGNATURE, sign(raw, signer, comment))
    write_atomically(to / MANIFEST, raw)
    return manifest


def _manifest(files: FileSet, before: int, order: FeedOrder) -> FeedManifest:
    now = int(time.time())
    version = order.version or max(before + 1, int(time.strftime("%Y%m%d%H%M", time.gmtime(now))))
    if version <= before:
        raise CallError(f"the feed is at version {before}: one that is not higher nobody takes")
    return FeedManifest(
        version=version,
        made=now,
        expires=now + int(order.days * _DAY_S),
        files={name: FeedFile(sha256=digest_of(raw), size=len(raw)) for name, raw in files.items()},
        oborona=order.oborona,
        made_by=__version__,
        withdrawn=order.withdrawn,
        next_key=order.next_key,
        notes=" ".join(order.notes.split()),
    )


def _version_there(to: Path) -> int:
    path = to / MANIFEST
    if not path.exists():
        return 0
    try:
        return msgspec.json.decode(
            read_plain(path, MOST_MANIFEST, links=False), type=FeedManifest
        ).version
    except msgspec.MsgspecError as error:
        raise CallError(f"{path} is no feed of ours: {error}") from error
