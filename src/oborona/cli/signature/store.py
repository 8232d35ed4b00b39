"""The store of signatures as commands open it, and a signature as they show it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
import msgspec

from oborona import state_files
from oborona.cli.context import CliContext
from oborona.policy.signatures import Signature
from oborona.stores.signatures.rows import SignatureHits
from oborona.stores.signatures.store import SignatureStore


@contextmanager
def open_signatures(context: CliContext) -> Iterator[SignatureStore]:
    """The store of the site; begun where there is none.

    Raises:
        StoreError: it can't be used.
        click.BadParameter: no signature has the id that was asked for.
    """
    if not context.state.is_dir():
        raise click.UsageError(
            f"{context.state}: there is no state folder; has Oborona run with these settings?"
        )
    with SignatureStore(context.state / state_files.SIGNATURES) as store:
        try:
            yield store
        except KeyError as unknown:
            raise click.BadParameter(f"no signature {unknown}") from None


def as_object(signature: Signature, state: str, hits: SignatureHits, now: float) -> dict[str, Any]:
    """Return a signature as `--json` shows it."""
    return {
        **msgspec.structs.asdict(signature),
        "state": state,
        "expired": signature.expired(now),
        "hits": msgspec.structs.asdict(hits),
    }


def shown_time(at: float) -> str:
    """Return a time for people, by the clock of this machine; empty for none."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at)) if at else ""
