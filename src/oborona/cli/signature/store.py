"""The store of signatures as commands open it, and a signature as they show it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
import msgspec

from oborona import state_files
from oborona.cli.context import CliContext
from oborona.desk.state_folder import require_state
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
    require_state(context)
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
