"""Files of signatures, added in one step."""

from __future__ import annotations

import time
from typing import Annotated

from msgspec import Meta

from oborona.desk.act_report import ActReport
from oborona.desk.acts.signatures import signature_removal
from oborona.desk.asks.signatures import MOST_MESSAGES
from oborona.desk.call import ActOrder, act
from oborona.desk.signatures.store import open_signatures
from oborona.desk.signatures.text_lines import MAX_FILE, read_signatures
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.policy.signatures import Signature, SignatureFlag, SignatureKind


class SignatureImportOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """A file of signatures; its reason is that of lines of text.

    Args:
        content: the file.
        called: its name.
        flag: of lines of text.
        kind: of lines of text.
        owner: who answers for them; empty = their author.
        author: who adds them; empty = the caller.
        skip_broken: pass over lines that can't be used.
    """

    content: Annotated[bytes, Meta(max_length=MAX_FILE)]
    called: Annotated[str, Meta(max_length=1000)] = "-"
    flag: SignatureFlag = SignatureFlag.SPAM
    kind: SignatureKind = SignatureKind.PHRASE
    owner: str = ""
    author: str = ""
    skip_broken: bool = False


class ImportedSignatures(ActReport, frozen=True, kw_only=True):
    """What was taken of a file.

    Args:
        added: how many are new.
        same: how many were there already.
        passed_over: lines that can't be used, and why.
    """

    added: int
    same: int
    passed_over: list[str]


@act("signatures.import", Right.SIGNATURE)
def import_signatures(
    site: Site, caller: Caller, asked: SignatureImportOrder
) -> ImportedSignatures:
    """Add all lines of a file in one step: all or, if one can't be used, none.

    Raises:
        MisusedCallError: a line can't be used, or there is too much.
        StoreError: the store can't be written.
    """
    author = asked.author or caller.name
    pattern = Signature(
        id="s1",
        flag=asked.flag,
        kind=asked.kind,
        value="",
        owner=asked.owner or author,
        reason=asked.reason,
        author=author,
        created=time.time(),
    )
    signatures, passed_over = read_signatures(
        asked.content, asked.called, pattern, skip=asked.skip_broken
    )
    if asked.dry:
        return ImportedSignatures(dry=True, added=len(signatures), same=0, passed_over=passed_over)
    with open_signatures(site) as store:
        results = store.add(signatures, now=pattern.created)
    new = [name for name, is_new in results if is_new]
    return ImportedSignatures(
        added=len(new),
        same=len(results) - len(new),
        passed_over=passed_over,
        undo=signature_removal(new) if 0 < len(new) <= MOST_MESSAGES else None,
    )
