"""The Redis function that applies steps: it is loaded into primaries that lack it, and never
replaces a newer version.

The library's name ends in its version, which grows with any change of the function or of the page
format. Older versions are deleted: a sender that still calls one fails, finds the newer version
and stops. Replicas receive the function from their primaries; a primary that is new to the cluster
is loaded when a call first misses the function.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Final

import hiredis

from oborona.counters.cluster.blocking_client import BlockingClusterClient
from oborona.counters.cluster.wire import NodeAddress, Reply
from oborona.errors import StoreError, StoreVersion

VERSION: Final = 3
LIBRARY: Final = "oborona_counters_"
ADD: Final = f"oborona_add_{VERSION}".encode()


def load(shards: BlockingClusterClient, node: NodeAddress) -> None:
    """Have a primary know the function.

    Raises:
        StoreVersion: it has one of a newer Oborona.
        StoreError: it is away, or does not take it.
    """
    [listed] = shards.ask_node(node, ("FUNCTION", "LIST", "LIBRARYNAME", f"{LIBRARY}*"))
    if isinstance(listed, hiredis.ReplyError):
        raise StoreError(f"{node} tells no functions; Redis 7 has them: {listed}")
    versions = _versions(listed)
    newest = max(versions, default=0)
    if newest > VERSION:
        raise StoreVersion(
            f"the counters on {node} have version {newest}, this Oborona knows {VERSION}: "
            f"written by a newer Oborona"
        )
    if VERSION not in versions:
        code = files("oborona.counters.cluster").joinpath("pages.lua").read_text("utf-8")
        older = [("FUNCTION", "DELETE", f"{LIBRARY}{version}") for version in versions]
        for answer in shards.ask_node(node, ("FUNCTION", "LOAD", "REPLACE", code), *older):
            if isinstance(answer, hiredis.ReplyError):
                raise StoreError(f"{node} does not take our function: {answer}")


def _versions(listed: Reply) -> list[int]:
    assert isinstance(listed, list)
    names = [
        dict(zip(library[::2], library[1::2], strict=True))[b"library_name"].decode()
        for library in listed
    ]
    return [int(number) for name in names if (number := name.removeprefix(LIBRARY)).isdecimal()]
