"""A folder of policy files to a policy, as one whole or not at all.

All `*.toml` files of the folder are read in the order of their names; names that begin with a dot are editors' own.
A file that is empty, or whose last line does not end, is taken for half-written: `score = 10` may be the beginning of
`score = 100`. So are a folder that is missing or holds no policy file: an empty policy would let everything through.
List files (`*.list`) are read where a list of any sort names them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from oborona.errors import PolicyError
from oborona.policy.expression import CompiledRules, Schema, compile_rules
from oborona.policy.list_files import ListFiles
from oborona.policy.merge import merge
from oborona.policy.rules import Rule, VerdictLines
from oborona.policy.signature_files import SignatureFiles
from oborona.policy.signatures.model import Signature
from oborona.policy.tables import AuthenticationTable, GreylistTable, PicturesTable, RepIpTable
from oborona.reputation.dnslists import DnsList
from oborona.reputation.locallists import LocalLists
from oborona.toml import Document, read

MAX_FILES: Final = 200  # more are not written by people
VERSION_LENGTH: Final = 12  # hex digits: enough to tell one site's policies apart


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """What an admin has decided, ready for use."""

    verdict: VerdictLines
    repip: RepIpTable
    greylist: GreylistTable
    authentication: AuthenticationTable
    pictures: PicturesTable
    rules: tuple[Rule, ...]  # those switched off included
    dns_lists: tuple[DnsList, ...]  # those switched off included
    local_lists: LocalLists  # those switched on
    signatures: Mapping[str, Signature]  # those switched on, by id
    compiled: CompiledRules
    version: str  # hash of names and contents: the same everywhere for the same files
    origins: Mapping[
        str, str
    ]  # "verdict.spam_score", "rule.NAME.score", "dns_list.NAME.zone" -> "file:line"; what is not here is a default
    lists: Mapping[str, Any]  # "dns_list.NAME.zone" -> its value as a file gave it
    files: tuple[str, ...] = ()


def policy_files(directory: Path, suffix: str = ".toml") -> list[Path]:
    """Return the policy files of a folder in their order.

    Args:
        directory: the folder.
        suffix: of their names; `.list` for list files.

    Raises:
        PolicyError: the folder cannot be read.
    """
    try:
        names = sorted(path for path in directory.iterdir() if path.suffix == suffix and path.name[0] != ".")
    except (OSError, ValueError) as fault:
        why = getattr(fault, "strerror", None) or fault
        raise PolicyError(f"the policy folder cannot be read: {why}", file=str(directory)) from fault
    return names


def load_policy(
    directory: Path,
    schema: Schema,
    lists: ListFiles | None = None,
    signatures: SignatureFiles | None = None,
    *,
    force: bool = False,
) -> Policy:
    """Return the policy that a folder holds.

    Args:
        directory: read now, each file once.
        schema: the facts that rules may name.
        lists: what is known of list files; those that look as before are not read again.
        signatures: the same for those of signatures.
        force: read them even so.

    Raises:
        PolicyError: anything wrong with any file; nothing else.
    """
    files = policy_files(directory)
    if not files:
        raise PolicyError("the policy folder holds no *.toml file", file=str(directory))
    if len(files) > MAX_FILES:
        raise PolicyError(
            f"the policy folder holds {len(files)} files; at most {MAX_FILES}", file=str(directory)
        )
    documents: list[Document] = []
    digest = hashlib.sha256()
    for path in files:
        document, raw = _read(path)
        documents.append(document)
        digest.update(
            f"{len(path.name)}:{len(raw)}:".encode() + path.name.encode("utf-8", "surrogateescape") + raw
        )
    merged = merge(documents)
    local_lists, contents = (lists or ListFiles()).read(directory, merged.local_lists, force=force)
    digest.update(contents)
    found, contents = (signatures or SignatureFiles()).read(
        directory, merged.signatures, merged.signature_lists, force=force
    )
    digest.update(contents)
    return Policy(
        verdict=merged.verdict,
        repip=merged.repip,
        greylist=merged.greylist,
        authentication=merged.authentication,
        pictures=merged.pictures,
        rules=merged.rules,
        dns_lists=merged.dns_lists,
        local_lists=local_lists,
        signatures=found,
        compiled=compile_rules(merged.rules, schema),
        version=digest.hexdigest()[:VERSION_LENGTH],
        origins=merged.origins,
        lists=merged.lists,
        files=tuple(str(path) for path in files),
    )


def _read(path: Path) -> tuple[Document, bytes]:
    document, raw = read(path, PolicyError)
    if not raw.strip():
        raise PolicyError(
            "is empty: half-written? A file may be switched off by a comment", file=str(path), line=1
        )
    if not raw.endswith(b"\n"):
        raise PolicyError(
            "its last line does not end: half-written?", file=str(path), line=raw.count(b"\n") + 1
        )
    return document, raw
