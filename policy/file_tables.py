"""The tables that a policy file may have: those with a name, of which there are many, and those of
which there is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from oborona.policy.account_tests import ACCOUNT_TESTS
from oborona.policy.brand_table import BRANDS
from oborona.policy.dns_lists import DNS_LISTS
from oborona.policy.engine_table import EnginesTable
from oborona.policy.event_lists import EVENT_LISTS
from oborona.policy.event_rules import EVENT_RULES
from oborona.policy.final_table import FinalTable
from oborona.policy.flow_limit_table import FLOW_LIMITS
from oborona.policy.free_lists import FREE_LISTS, FreeListsTable
from oborona.policy.groups import GROUPS
from oborona.policy.limit_table import LIMITS
from oborona.policy.local_lists import LOCAL_LISTS
from oborona.policy.named_tables import TableSort
from oborona.policy.outgoing_table import OutgoingTable
from oborona.policy.own_people import OWN_PEOPLE
from oborona.policy.rules import (
    MAX_CONDITIONS,
    MAX_RULES,
    ConditionTable,
    RuleTable,
    VerdictLines,
    tests,
)
from oborona.policy.signature_tables import SIGNATURE_LISTS, SIGNATURES
from oborona.policy.tables import (
    AuthenticationTable,
    GreylistTable,
    KarmaTable,
    MeaningTable,
    PicturesTable,
    RepIpTable,
)
from oborona.policy.trap_table import TrapsTable

RULES: Final = TableSort("rule", "rule", RuleTable, MAX_RULES, (("when",), ("score",)), tests)
CONDITIONS: Final = TableSort(
    "condition", "condition", ConditionTable, MAX_CONDITIONS, (("when",),)
)
LISTED: Final = (
    DNS_LISTS,
    LOCAL_LISTS,
    SIGNATURES,
    SIGNATURE_LISTS,
    BRANDS,
    OWN_PEOPLE,
    LIMITS,
    FLOW_LIMITS,
    ACCOUNT_TESTS,
    EVENT_LISTS,
    EVENT_RULES,
)
SORTS: Final = (RULES, CONDITIONS, GROUPS, *LISTED)
SINGLE: Final[Mapping[str, type[msgspec.Struct]]] = {
    "verdict": VerdictLines,
    "repip": RepIpTable,
    "karma": KarmaTable,
    "greylist": GreylistTable,
    "authentication": AuthenticationTable,
    "pictures": PicturesTable,
    "final": FinalTable,
    "meaning": MeaningTable,
    "traps": TrapsTable,
    "engines": EnginesTable,
    "outgoing": OutgoingTable,
    FREE_LISTS: FreeListsTable,
}
"""Tables without a name: there is one of each."""


class PolicyFile(msgspec.Struct, frozen=True, kw_only=True):
    """The top level of a policy file."""

    verdict: (
        Annotated[dict[str, Any], Meta(extra={"allowed": "a table: [verdict]"})] | UnsetType
    ) = UNSET
    repip: Annotated[dict[str, Any], Meta(extra={"allowed": "a table: [repip]"})] | UnsetType = (
        UNSET
    )
    karma: Annotated[dict[str, Any], Meta(extra={"allowed": "a table: [karma]"})] | UnsetType = (
        UNSET
    )
    greylist: (
        Annotated[dict[str, Any], Meta(extra={"allowed": "a table: [greylist]"})] | UnsetType
    ) = UNSET
    authentication: (
        Annotated[dict[str, Any], Meta(extra={"allowed": "a table: [authentication]"})] | UnsetType
    ) = UNSET
    pictures: (
        Annotated[dict[str, Any], Meta(extra={"allowed": "a table: [pictures]"})] | UnsetType
    ) = UNSET
    final: Annotated[dict[str, Any], Meta(extra={"allowed": "a table: [final]"})] | UnsetType = (
        UNSET
    )
    meaning: (
        Annotated[dict[str, Any], Meta(extra={"allowed": "a table: [meaning]"})] | UnsetType
    ) = UNSET
    traps: Annotated[dict[str, Any], Meta(extra={"allowed": "a table: [traps]"})] | UnsetType = (
        UNSET
    )
    engines: (
        Annotated[dict[str, Any], Meta(extra={"allowed": "a table: [engines]"})] | UnsetType
    ) = UNSET
    outgoing: (
        Annotated[dict[str, Any], Meta(extra={"allowed": "a table: [outgoing]"})] | UnsetType
    ) = UNSET
    free_lists: (
        Annotated[dict[str, Any], Meta(extra={"allowed": "a table: [free_lists]"})] | UnsetType
    ) = UNSET
    rule: (
        Annotated[list[Any], Meta(extra={"allowed": "tables, each under [[rule]]"})] | UnsetType
    ) = UNSET
    condition: (
        Annotated[list[Any], Meta(extra={"allowed": "tables, each under [[condition]]"})]
        | UnsetType
    ) = UNSET
    group: (
        Annotated[list[Any], Meta(extra={"allowed": "tables, each under [[group]]"})] | UnsetType
    ) = UNSET
    dns_list: (
        Annotated[list[Any], Meta(extra={"allowed": "tables, each under [[dns_list]]"})] | UnsetType
    ) = UNSET
    local_list: (
        Annotated[list[Any], Meta(extra={"allowed": "tables, each under [[local_list]]"})]
        | UnsetType
    ) = UNSET
    signature: (
        Annotated[list[Any], Meta(extra={"allowed": "tables, each under [[signature]]"})]
        | UnsetType
    ) = UNSET
    signature_list: (
        Annotated[list[Any], Meta(extra={"allowed": "tables, each under [[signature_list]]"})]
        | UnsetType
    ) = UNSET
    brand: (
        Annotated[list[Any], Meta(extra={"allowed": "tables, each under [[brand]]"})] | UnsetType
    ) = UNSET
    own_person: (
        Annotated[list[Any], Meta(extra={"allowed": "tables, each under [[own_person]]"})]
        | UnsetType
    ) = UNSET
    limit: (
        Annotated[list[Any], Meta(extra={"allowed": "tables, each under [[limit]]"})] | UnsetType
    ) = UNSET
    flow_limit: (
        Annotated[list[Any], Meta(extra={"allowed": "tables, each under [[flow_limit]]"})]
        | UnsetType
    ) = UNSET
    account_test: (
        Annotated[list[Any], Meta(extra={"allowed": "tables, each under [[account_test]]"})]
        | UnsetType
    ) = UNSET
    event_list: (
        Annotated[list[Any], Meta(extra={"allowed": "tables, each under [[event_list]]"})]
        | UnsetType
    ) = UNSET
    event_rule: (
        Annotated[list[Any], Meta(extra={"allowed": "tables, each under [[event_rule]]"})]
        | UnsetType
    ) = UNSET
