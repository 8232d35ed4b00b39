"""Loads policy files into a policy, completely or not at all.

All `*.toml` and `*.lua` files are read, in the order of `oborona.policy.folders`: the shipped ones,
then the admin's. A file that is empty, or whose last line does not end, is taken for half-written:
`score = 10` may be the beginning of `score = 100`. So are folders without a policy file: an empty
policy would let everything through. List files (`*.list`) are read if a list names them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from oborona.errors import PolicyError
from oborona.policy.account_tests import NO_ACCOUNT_TESTS, AccountTests
from oborona.policy.brands import Brands
from oborona.policy.engine_table import EnginesTable
from oborona.policy.event_logs import RuledLog
from oborona.policy.event_rules import NO_EVENTS, EventPolicy
from oborona.policy.expression import CompiledRules, FactSchema, ToCode, code_of, compile_rules
from oborona.policy.faults import PolicyFaults
from oborona.policy.final_table import FinalTable
from oborona.policy.flow_limits import FlowLimit
from oborona.policy.folders import PolicyFolders
from oborona.policy.free_lists import FreeListsTable
from oborona.policy.groups import RuleGroups
from oborona.policy.limits import Limit
from oborona.policy.load_cache import PolicyCache
from oborona.policy.merge import MergedPolicy, merge_what_is_right
from oborona.policy.outgoing_table import OutgoingTable
from oborona.policy.own_people import OwnPeople
from oborona.policy.rules import Condition, Rule, VerdictLines
from oborona.policy.scripts.loader import LoadedScripts
from oborona.policy.scripts.scripts import Scripts
from oborona.policy.scripts.source import MAX_BYTES as MAX_SCRIPT
from oborona.policy.signatures.finder import rule_name
from oborona.policy.signatures.model import Signature
from oborona.policy.tables import (
    AuthenticationTable,
    GreylistTable,
    KarmaTable,
    MeaningTable,
    PicturesTable,
    RepIpTable,
)
from oborona.policy.trap_table import TrapsTable
from oborona.policy.traps import Traps
from oborona.policy.version import meaning_of, version_of
from oborona.reputation.dnsbl import DnsList
from oborona.reputation.locallists import LocalLists
from oborona.toml import TomlDocument
from oborona.types import Envelope, Stage

MAX_FILES: Final = 200  # more are not written by people
SHIPS_SO: Final = (
    "this file ships with the program; what is yours goes into the policy folder of the site"
)


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """An admin's policy, loaded and ready for use."""

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
    outgoing: OutgoingTable
    free_lists: FreeListsTable
    rules: tuple[Rule, ...]  # those switched off included
    conditions: tuple[Condition, ...]
    groups: RuleGroups
    dns_lists: tuple[DnsList, ...]  # those switched off included
    local_lists: LocalLists  # those switched on
    signatures: Mapping[str, Signature]  # those switched on, by id
    brands: Brands  # those switched on
    people: OwnPeople  # the site's own; those switched on
    limits: tuple[Limit, ...]  # on outgoing mail; those switched on
    flow_limits: tuple[FlowLimit, ...]  # on flows; those switched on
    compiled: CompiledRules
    account_tests: AccountTests = NO_ACCOUNT_TESTS
    events: EventPolicy = NO_EVENTS  # logs of events, and the rules over their rows
    scripts: Scripts | None = None  # None: there are none
    means: bytes  # all of it as JSON; equal for policies that judge alike
    version: str  # of what it means, wherever and however that is written: `oborona.policy.version`
    origins: Mapping[
        str, str
        # "verdict.spam_score", "rule.NAME.score", "dns_list.NAME.zone" -> "file:line"; what is not
        # here is a default
    ]
    lists: Mapping[str, Any]  # "dns_list.NAME.zone" -> its value as a file gave it
    files: tuple[str, ...] = ()  # in the order in which they were read
    folders: PolicyFolders = PolicyFolders()  # that places name

    def lines(self, envelope: Envelope) -> VerdictLines:
        """Return the lines that a message is held to: outgoing mail has its own."""
        return self.outgoing.lines(self.verdict) if self.outgoing.leaves(envelope) else self.verdict

    @property
    def private(self) -> frozenset[str]:
        """Names of rules that are not told: `oborona.policy.disclosure`."""
        return (
            self.compiled.private
            if self.scripts is None
            else self.compiled.private | self.scripts.private
        )

    @property
    def wordless(self) -> frozenset[str]:
        """Names of those that are told without what their words say of traps."""
        return (
            self.compiled.wordless
            if self.scripts is None
            else self.compiled.wordless | self.scripts.wordless
        )


def load_policy(
    where: Path | PolicyFolders,
    schema: FactSchema,
    before: PolicyCache | None = None,
    *,
    named: Path | PolicyFolders | None = None,
    force: bool = False,
    to_code: ToCode = code_of,
    logs: Sequence[RuledLog] = (),
) -> Policy:
    """Return the policy that folders hold.

    Args:
        where: read now, each file once; a path stands for that folder alone.
        schema: the facts that rules may name.
        before: what is known of policies loaded before; None = nothing.
        named: the folders that places name, where these are a copy of them.
        force: read list files even if they look as before.
        to_code: as of `compile_rules`.
        logs: logs of events beside our own, as they are declared: rules over others are not
            checked.

    Raises:
        PolicyError: anything wrong with any file, with all else that is; nothing else.
    """
    folders = PolicyFolders.of(where)
    originals = folders if named is None else PolicyFolders.of(named)
    try:
        return _load(
            folders,
            originals,
            schema,
            before or PolicyCache(),
            force=force,
            to_code=to_code,
            logs=logs,
        )
    except PolicyError as error:
        raise _mark_shipped(error, originals.shipped) from error


def _mark_shipped(error: PolicyError, shipped: Path | None) -> PolicyError:
    """Return an error, and what else is wrong, with a word where a file is one that ships."""
    marked = [
        PolicyError(
            f"{problem.problem} ({SHIPS_SO})"
            if problem.file and Path(problem.file).parent == shipped
            else problem.problem,
            file=problem.file,
            line=problem.line,
            column=problem.column,
        )
        for problem in (error, *error.more)
    ]
    marked[0].more = tuple(marked[1:])
    return marked[0]


def _load(
    folders: PolicyFolders,
    named: PolicyFolders,
    schema: FactSchema,
    before: PolicyCache,
    *,
    force: bool,
    to_code: ToCode,
    logs: Sequence[RuledLog],
) -> Policy:
    files = folders.files(".toml", ".lua")
    names = {path: named.original(path, folders) for path in files}
    tables = [path for path in files if path.suffix == ".toml"]
    scripts = {names[path]: _script(path) for path in files if path.suffix == ".lua"}
    if not tables:
        raise PolicyError("the policy folder holds no *.toml file", file=str(folders.main))
    if len(files) > MAX_FILES:
        raise PolicyError(
            f"the policy folder holds {len(files)} files; at most {MAX_FILES}",
            file=str(folders.main),
        )
    documents: dict[Path, TomlDocument] = {}
    faults = PolicyFaults()
    for path in tables:
        with faults:
            documents[names[path]] = before.documents.read(path, names[path])
    faults.end()  # a file that can't be read hides what the others name
    loaded = None
    if scripts:
        loaded = LoadedScripts({str(path): raw for path, raw in scripts.items()}, schema)
        schema = loaded.schema
        documents |= {path: loaded.document(str(path)) for path in scripts}
    merged = merge_what_is_right(
        [documents[names[path]] for path in files], schema.findings, faults, logs
    )
    bound = None
    with faults:
        bound = None if loaded is None else loaded.bound(merged.rules)
    with faults:
        local_lists, of_lists = before.lists.read(folders, merged.local_lists, force=force)
    with faults:
        signatures, of_signatures = before.signatures.read(
            folders, merged.signatures, merged.signature_lists, force=force
        )
    with faults:
        trapped, of_traps = before.traps.read(
            folders, merged.traps, merged.traps_given, force=force
        )
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
    means = meaning_of(
        merged,
        lists=of_lists,
        signatures=of_signatures,
        traps=of_traps,
        scripts=() if loaded is None else loaded.meant,
    )
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
        outgoing=merged.outgoing,
        free_lists=merged.free_lists,
        rules=merged.rules,
        conditions=merged.conditions,
        groups=merged.groups,
        dns_lists=merged.dns_lists,
        local_lists=local_lists,
        signatures=signatures,
        brands=merged.brands,
        people=merged.people,
        limits=merged.limits,
        flow_limits=merged.flow_limits,
        account_tests=merged.account_tests,
        events=merged.events,
        compiled=compiled,
        scripts=bound,
        means=means,
        version=version_of(means),
        origins=merged.origins,
        lists=merged.lists,
        files=tuple(map(str, names.values())),
        folders=named,
    )


def hit_before(merged: MergedPolicy) -> dict[str, Stage]:
    """Return the names that can be hit before the rules run, as their expressions may ask for by
    `fired`, with the stage from which that is known.
    """
    stages = dict.fromkeys(merged.broken - {rule.name for rule in merged.rules}, Stage.CONNECT)
    stages |= dict.fromkeys(map(rule_name, merged.signatures), Stage.CONTENT)
    for dns_list in merged.dns_lists:
        stages[dns_list.name] = max((of.stage for of in dns_list.of), key=lambda stage: stage.order)
    for source in merged.local_lists:
        stages[source.name] = max((of.stage for of in source.of), key=lambda stage: stage.order)
    return stages


def _script(path: Path) -> bytes:
    try:
        # Looked at before it is opened: opening a pipe waits for its writer.
        if not path.is_file():
            raise PolicyError("is not a plain file", file=str(path))
        with path.open("rb") as handle:
            return handle.read(MAX_SCRIPT + 1)
    except OSError as fault:
        raise PolicyError(f"cannot be read: {fault.strerror or fault}", file=str(path)) from fault
