"""The ask for all signatures of the store as a file."""

from __future__ import annotations

import msgspec

from oborona.desk.call import ask
from oborona.desk.signatures.store import open_signatures
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.stores.signatures.rows import SignatureState


class SignatureExportQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """All that are in force."""


class ExportedSignatures(msgspec.Struct, frozen=True, kw_only=True):
    """Signatures as `signatures.import` takes them.

    Args:
        content: the file, a JSON object a line.
        signatures: how many.
    """

    content: bytes
    signatures: int


@ask("signatures.export", Right.SIGNATURE, Right.POLICY_SEE)
def export_signatures(
    site: Site, _caller: Caller, asked: SignatureExportQuestion
) -> ExportedSignatures:
    """Return all active signatures of the store.

    Raises:
        StoreError: the store can't be read, or there is none.
    """
    with open_signatures(site) as store:
        active = [record.signature for record in store.all(SignatureState.ACTIVE)]
    content = b"".join(msgspec.json.encode(one) + b"\n" for one in active)
    return ExportedSignatures(content=content, signatures=len(active))
