"""A folder of policy files to a policy, as one whole or not at all.

All `*.toml` and `*.lua` files of the folder are read in the order of their names; names that begin with a dot are editors' own.
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
from oborona.policy.before import Before
from oborona.policy.engine_table import EnginesTable
from oborona.policy.expression import CompiledRules, Schema, ToCode, code_of, compile_rules
from oborona.policy.faults import Faults
from oborona.policy.groups import Groups
from oborona.policy.merge import Merged, merge_what_is_right
from oborona.policy.rules import Condition, Rule, VerdictLines
from oborona.policy.scripts.loading import Loaded
from oborona.policy.scripts.scripts import Scripts
from oborona.policy.scripts.source import MAX_BYTES as MAX_SCRIPT
from oborona.policy.signatures.matched import rule_name
from oborona.policy.signatures.model import Signature
from oborona.policy.tables import (
    AuthenticationTable,
    FinalTable,
    GreylistTable,
    KarmaTable,
    MeaningTable,
    PicturesTable,
    RepIpTable,
)
from oborona.policy.trap_table import TrapsTable
from oborona.policy.traps import Traps
from oborona.reputation.dnslists import DnsList
from oborona.reputation.locallists import LocalLists
from oborona.toml import Document
from oborona.types import Stage

MAX_FILES: Final = 200  # more are not written by people
VERSION_LENGTH: Final = 12  # hex digits: enough to tell one site's policies apart


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """What an admin has decided, ready for use."""

    verdict: VerdictLines
    repip: RepIpTable
    karma: KarmaTable
    greylist: GreylistTable
    authentication: AuthenticationTable
    pictures: PicturesTable
    final: FinalTable
    meaning: MeaningTable
    traps: TrapsTable
    trapped: Traps  # what it names, with its files
    engines: EnginesTable
    rules: tuple[Rule, ...]  # those switched off included
    conditions: tuple[Condition, ...]
    groups: Groups
    dns_lists: tuple[DnsList, ...]  # those switched off included
    local_lists: LocalLists  # those switched on
    signatures: Mapping[str, Signature]  # those switched on, by id
    compiled: CompiledRules
    scripts: Scripts | None = None  # None: there are none
    version: str  # hash of names and contents: the same everywhere for the same files
    origins: Mapping[
        str, str
    ]  # "verdict.spam_score", "rule.NAME.score", "dns_list.NAME.zone" -> "file:line"; what is not here is a default
    lists: Mapping[str, Any]  # "dns_list.NAME.zone" -> its value as a file gave it
    files: tuple[str, ...] = ()


def policy_files(directory: Path, *suffixes: str) -> list[Path]:
    """Return the policy files of a folder in their order.

    Args:
        directory: the folder.
        suffixes: of their names; none = `.toml`.

    Raises:
        PolicyError: the folder cannot be read.
    """
    wanted = suffixes or (".toml",)
    try:
        names = sorted(path for path in directory.iterdir() if path.suffix in wanted and path.name[0] != ".")
    except (OSError, ValueError) as fault:
        why = getattr(fault, "strerror", None) or fault
        raise PolicyError(f"the policy folder cannot be read: {why}", file=str(directory)) from fault
    return names


def load_policy(
    directory: Path,
    schema: Schema,
    before: Before | None = None,
    *,
    named: Path | None = None,
    force: bool = False,
    to_code: ToCode = code_of,
) -> Policy:
    """Return the policy that a folder holds.

    Args:
        directory: read now, each file once.
        schema: the facts that rules may name.
        before: what is known of policies loaded before; None = nothing.
        named: the folder that places of TOML files name, where this is a copy of it.
        force: read list files even if they look as before.
        to_code: as of `compile_rules`.

    Raises:
        PolicyError: anything wrong with any file, with all else that is; nothing else.
    """
    tables, scripts = policy_files(directory), policy_files(directory, ".lua")
    if not tables:
        raise PolicyError("the policy folder holds no *.toml file", file=str(directory))
    files = sorted([*tables, *scripts])
    before = before or Before()
    if len(files) > MAX_FILES:
        raise PolicyError(
            f"the policy folder holds {len(files)} files; at most {MAX_FILES}", file=str(directory)
        )
    documents: dict[Path, Document] = {}
    octets: dict[Path, bytes] = {path: _script(path) for path in scripts}
    faults = Faults()
    for path in tables:
        with faults:
            documents[path], octets[path] = before.documents.read(path, named or directory)
    faults.end()  # a file that can't be read hides what the others name
    digest = hashlib.sha256()
    for path in files:
        raw = octets[path]
        digest.update(
            f"{len(path.name)}:{len(raw)}:".encode() + path.name.encode("utf-8", "surrogateescape") + raw
        )
    if scripts:
        loaded = Loaded({str(path): octets[path] for path in scripts}, schema)
        schema = loaded.schema
        documents |= {path: loaded.document(str(path)) for path in scripts}
    merged = merge_what_is_right([documents[path] for path in files], schema.findings, faults)
    bound = None
    with faults:
        bound = loaded.bound(merged.rules) if scripts else None
    with faults:
        local_lists, contents = before.lists.read(directory, merged.local_lists, force=force)
        digest.update(contents)
    with faults:
        found, contents = before.signatures.read(
            directory, merged.signatures, merged.signature_lists, force=force
        )
        digest.update(contents)
    with faults:
        trapped, contents = before.traps.read(directory, merged.traps, merged.traps_given, force=force)
        digest.update(contents)
    with faults:
        compiled = compile_rules(
            [rule for rule in merged.rules if not rule.scripted],
            schema,
            merged.conditions,
            hit_before(merged) | (bound.stages if bound else {}),
            to_code,
            before.rules,
        )
    faults.end()
    before.documents.keep(frozenset(path.name for path in tables))
    return Policy(
        verdict=merged.verdict,
        repip=merged.repip,
        karma=merged.karma,
        greylist=merged.greylist,
        authentication=merged.authentication,
        pictures=merged.pictures,
        final=merged.final,
        meaning=merged.meaning,
        traps=merged.traps,
        trapped=trapped,
        engines=merged.engines,
        rules=merged.rules,
        conditions=merged.conditions,
        groups=merged.groups,
        dns_lists=merged.dns_lists,
        local_lists=local_lists,
        signatures=found,
        compiled=compiled,
        scripts=bound,
        version=digest.hexdigest()[:VERSION_LENGTH],
        origins=merged.origins,
        lists=merged.lists,
        files=tuple(str(path) for path in files),
    )


def hit_before(merged: Merged) -> dict[str, Stage]:
    """Return the names that can be hit before the rules run, as their expressions may ask for by `fired`, with the stage from which that is known."""
    found = dict.fromkeys(merged.broken - {rule.name for rule in merged.rules}, Stage.CONNECT)
    found |= dict.fromkeys(map(rule_name, merged.signatures), Stage.CONTENT)
    for one in merged.dns_lists:
        found[one.name] = max((of.stage for of in one.of), key=lambda stage: stage.order)
    for source in merged.local_lists:
        found[source.name] = max((of.stage for of in source.of), key=lambda stage: stage.order)
    return found


def _script(path: Path) -> bytes:
    try:
        # Looked at before it is opened: opening a pipe waits for its writer.
        if not path.is_file():
            raise PolicyError("is not a plain file", file=str(path))
        with path.open("rb") as handle:
            return handle.read(MAX_SCRIPT + 1)
    except OSError as fault:
        raise PolicyError(f"cannot be read: {fault.strerror or fault}", file=str(path)) from fault
