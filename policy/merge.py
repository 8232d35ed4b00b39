"""Merges all policy files: the resulting tables, and the line of each value."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import msgspec

from oborona.errors import PolicyError
from oborona.policy.account_tests import (
    ACCOUNT_TESTS,
    NO_ACCOUNT_TESTS,
    AccountTests,
    account_tests,
)
from oborona.policy.brand_table import BRANDS
from oborona.policy.brands import Brands, brands
from oborona.policy.dns_lists import DNS_LISTS, dns_list
from oborona.policy.engine_table import EnginesTable, engines_table
from oborona.policy.event_lists import EVENT_LISTS
from oborona.policy.event_logs import RuledLog
from oborona.policy.event_rules import (
    DECLARE_SO,
    DECLARED_ELSEWHERE,
    EVENT_RULES,
    NO_EVENTS,
    EventPolicy,
    event_policy,
)
from oborona.policy.faults import PolicyFaults
from oborona.policy.file_tables import (
    CONDITIONS,
    LISTED,
    RULES,
    SINGLE,
    SORTS,
    PolicyFile,
)
from oborona.policy.final_table import FinalTable, final_table
from oborona.policy.flow_limit_table import FLOW_LIMITS
from oborona.policy.flow_limits import FlowLimit, flow_limit_of
from oborona.policy.free_lists import FREE_LISTS, FreeListsTable, free_lists_table, switched
from oborona.policy.groups import GROUPS, RuleGroups, groups, with_member
from oborona.policy.karma import KARMA
from oborona.policy.limit_table import LIMITS
from oborona.policy.limits import Limit, limit_of
from oborona.policy.local_lists import LOCAL_LISTS, ListSource, list_source
from oborona.policy.models.final.features import SHIPPED
from oborona.policy.named_tables import NamedTables, refuse
from oborona.policy.outgoing_table import OutgoingTable, outgoing_table
from oborona.policy.own_people import OWN_PEOPLE, OwnPeople, own_person
from oborona.policy.rules import (
    Condition,
    Rule,
    VerdictLines,
    condition,
    rule,
    verdict_lines,
)
from oborona.policy.signature_tables import (
    SIGNATURE_LISTS,
    SIGNATURES,
    SignatureSource,
    signature_of,
    signature_source,
)
from oborona.policy.signatures.model import Signature
from oborona.policy.tables import (
    AuthenticationTable,
    GreylistTable,
    KarmaTable,
    MeaningTable,
    PicturesTable,
    RepIpTable,
    karma_table,
)
from oborona.policy.trap_table import TrapsTable, traps_table
from oborona.reputation.dnsbl import DnsList
from oborona.toml import GivenValue, TomlDocument, table

NEVER: Final = "false"  # the condition of what can't be used, and may be named


class MergedPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """The merged policy files."""

    verdict: VerdictLines
    repip: RepIpTable
    karma: KarmaTable
    greylist: GreylistTable
    authentication: AuthenticationTable
    pictures: PicturesTable
    final: FinalTable
    meaning: MeaningTable
    traps: TrapsTable
    traps_given: Mapping[str, GivenValue]
    engines: EnginesTable
    outgoing: OutgoingTable
    free_lists: FreeListsTable
    conditions: tuple[Condition, ...]
    groups: RuleGroups
    rules: tuple[Rule, ...]  # these and the lists in the order of their first definition
    dns_lists: tuple[DnsList, ...]
    local_lists: tuple[ListSource, ...]
    signatures: tuple[Signature, ...]  # those switched on, as are their lists
    signature_lists: tuple[SignatureSource, ...]
    brands: Brands
    people: OwnPeople
    limits: tuple[Limit, ...]  # those switched on
    flow_limits: tuple[FlowLimit, ...]  # the same
    account_tests: AccountTests
    events: EventPolicy
    origins: Mapping[str, str]  # as of `Policy`
    lists: Mapping[str, Any]
    # names of rules and lists that can't be used, and may be named all the same
    broken: frozenset[str]


def merge(
    documents: Sequence[TomlDocument], findings: Collection[str] | None = None
) -> MergedPolicy:
    """Return what the files say together, later ones over earlier ones.

    Args:
        documents: the files, in their order.
        findings: all there are; None = any.

    Raises:
        PolicyError: keys, values or combinations that are not allowed, each with its place.
    """
    faults = PolicyFaults()
    merged = merge_what_is_right(documents, findings, faults)
    faults.end()
    return merged


def merge_what_is_right(
    documents: Sequence[TomlDocument],
    findings: Collection[str] | None,
    faults: PolicyFaults,
    logs: Sequence[RuledLog] = (),
) -> MergedPolicy:
    """Return what the files say together, later ones over earlier ones.

    Args:
        documents: the files, in their order.
        findings: all there are; None = any.
        faults: gets each key, value or combination that is not allowed, with its place; what it
            stands in is left out.
        logs: logs of events beside our own, as they are declared.
    """
    single: dict[str, dict[str, GivenValue]] = {name: {} for name in SINGLE}
    named = NamedTables(SORTS, faults)
    for document in documents:
        with faults:
            if DECLARED_ELSEWHERE in document.data:
                raise refuse(DECLARE_SO, document.key(DECLARED_ELSEWHERE, 0))
            top = table(document, (), PolicyFile, name="policy", error=PolicyError)
            for name, schema in SINGLE.items():
                if name in top:
                    with faults:
                        single[name] |= table(
                            document, (name,), schema, name=f"[{name}]", error=PolicyError
                        )
            named.add(document, top)
    origins = {
        f"{name}.{key}": str(field.place)
        for name, fields in single.items()
        for key, field in fields.items()
    }
    for sort, tables in named.tables.items():
        for name, fields in tables.items():
            origins |= {f"{sort}.{name}.{key}": str(field.place) for key, field in fields.items()}
    lists = {
        f"{sort.key}.{name}.{key}": field.value
        for sort in (CONDITIONS, GROUPS, *LISTED)
        for name, fields in named.tables[sort.key].items()
        for key, field in fields.items()
        if key != "name"
    }
    broken = {key: names - named.tables[key].keys() - {""} for key, names in named.broken.items()}
    rules = (
        *map(rule, named.tables[RULES.key].values()),
        *(Rule(name=name, when=NEVER, score=0.0) for name in sorted(broken[RULES.key])),
    )
    conditions = (
        *map(condition, named.tables[CONDITIONS.key].values()),
        *(Condition(name=name, when=NEVER) for name in sorted(broken[CONDITIONS.key])),
    )
    verdict, found_groups, karma = VerdictLines(), RuleGroups(), KarmaTable()
    final, traps, engines = FinalTable(), TrapsTable(), EnginesTable()
    free_lists, outgoing = FreeListsTable(), OutgoingTable()
    with faults:
        verdict = verdict_lines(single["verdict"])
    with faults:
        found_groups = groups(
            {
                name: named.tables[GROUPS.key].get(name, {})
                for name in (*broken[GROUPS.key], *named.tables[GROUPS.key])
            },
            rules,
        )
    with faults:
        karma = karma_table(
            single["karma"],
            named=[
                name
                for sort in (RULES, DNS_LISTS, LOCAL_LISTS)
                for name in (*named.tables[sort.key], *broken[sort.key])
            ],
            groups=named.tables[GROUPS.key],
            lists=named.tables[SIGNATURE_LISTS.key],
            findings=findings,
        )
    with faults:
        final = final_table(
            single["final"], named.tables[RULES.key], groups=named.tables[GROUPS.key]
        )
    with faults:
        traps = traps_table(single["traps"])
    with faults:
        engines = engines_table(single["engines"])
    of_accounts = NO_ACCOUNT_TESTS
    with faults:
        of_accounts = account_tests(named.tables[ACCOUNT_TESTS.key].values())
    events = NO_EVENTS
    with faults:
        events = event_policy(
            logs,
            named.tables[EVENT_LISTS.key].values(),
            named.tables[EVENT_RULES.key].values(),
            faults,
        )
    with faults:
        outgoing = outgoing_table(single["outgoing"], verdict)
    with faults:
        free_lists = free_lists_table(single[FREE_LISTS])
    return MergedPolicy(
        verdict=verdict,
        repip=RepIpTable(**_values(single["repip"])),
        karma=karma,
        greylist=GreylistTable(**_values(single["greylist"])),
        authentication=AuthenticationTable(**_values(single["authentication"])),
        pictures=PicturesTable(**_values(single["pictures"])),
        final=final,
        meaning=MeaningTable(**_values(single["meaning"])),
        traps=traps,
        traps_given=single["traps"],
        engines=engines,
        outgoing=outgoing,
        free_lists=free_lists,
        rules=rules,
        conditions=conditions,
        groups=with_member(
            with_member(found_groups, KARMA, karma.group), SHIPPED, final.shipped_group
        ),
        dns_lists=faults.each(
            lambda fields: switched(dns_list(fields), fields, free_lists),
            named.tables[DNS_LISTS.key].values(),
        ),
        local_lists=faults.each(list_source, named.tables[LOCAL_LISTS.key].values()),
        signatures=tuple(
            filter(None, faults.each(signature_of, named.tables[SIGNATURES.key].values()))
        ),
        signature_lists=tuple(
            filter(None, faults.each(signature_source, named.tables[SIGNATURE_LISTS.key].values()))
        ),
        brands=brands(named.tables[BRANDS.key]),
        people=OwnPeople(
            filter(None, faults.each(own_person, named.tables[OWN_PEOPLE.key].values()))
        ),
        limits=tuple(filter(None, faults.each(limit_of, named.tables[LIMITS.key].values()))),
        flow_limits=tuple(
            filter(None, faults.each(flow_limit_of, named.tables[FLOW_LIMITS.key].values()))
        ),
        account_tests=of_accounts,
        events=events,
        origins=origins,
        lists=lists,
        broken=frozenset().union(*broken.values(), *map(frozenset, named.tables.values()))
        if faults
        else frozenset(),
    )


def _values(fields: Mapping[str, GivenValue]) -> dict[str, Any]:
    return {key: field.value for key, field in fields.items()}
