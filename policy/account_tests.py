"""The `[[account_test]]` tables of policy files: what speaks against an account, and how much.

[[account_test]]
name    = "DISPOSABLE_MAIL"
when    = "registration.mail_disposable"
penalty = 30
say     = "registered with a throw-away address of {registration.mail_domain}"

A condition is in the language of rules, on what is known of accounts (`ACCOUNT_SCHEMA`).  A penalty
holds while its condition does, and `lasts_days` longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from oborona.policy.expression import CompiledRules, Fact, FactSchema, compile_rules
from oborona.policy.named_tables import MAX_TEXT, Enabled, Fields, Name, TableSort, Why
from oborona.policy.rules import Rule
from oborona.types import RuleMode, Stage

MAX_ACCOUNT_TESTS: Final = 500
MAX_PENALTY: Final = 100
LONGEST_DAYS: Final = 400.0
DAY_S: Final = 86_400.0


class AccountFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an account, by the names of `ACCOUNT_SCHEMA`."""

    registration_told: bool = False
    registration_country: str = ""
    registration_phone_country: str | None = None
    registration_mail_domain: str = ""
    registration_mail_disposable: bool = False
    registration_mail_odd: float | None = None
    registration_user_name: str = ""
    registration_user_name_odd: float | None = None
    registration_payment: str = ""
    registration_payment_country: str = ""
    registrations_same_network_hour: int = 0
    account_age_hours: float | None = None
    incidents_spam_month: int = 0
    incidents_traps_month: int = 0
    incidents_complaints_month: int = 0
    incidents_unknown_users_month: int = 0
    incidents_listed_month: int = 0


_TEXTS: Final = {
    "registration.country": "Country of the address at registration, two capital letters.",
    "registration.mail_domain": "Domain of the mail address at registration, in lower case.",
    "registration.user_name": "The name that was asked for.",
    "registration.payment": "Means of payment, in lower case, as the source of registrations says.",
    "registration.payment_country": "Country of the means of payment, two capital letters.",
}

_INCIDENTS: Final = {
    "traps": "Incidents for mail to traps",
    "complaints": "Incidents for complaints",
    "unknown_users": "Incidents for mail to addresses without a mailbox",
    "listed": "Incidents for addresses of the account that DNS lists had",
}

_NAMES: Final = {
    "user_name": "the user name",
    "mail": "the mail address before its @",
}

ACCOUNT_SCHEMA: Final = FactSchema(
    facts=(
        Fact(
            name="registration.told",
            type=bool,
            stage=Stage.CONNECT,
            doc="Whether it is known how the account came to be.",
        ),
        *(
            Fact(name=name, type=str, stage=Stage.CONNECT, doc=f"{doc} Empty: not known.")
            for name, doc in _TEXTS.items()
        ),
        Fact(
            name="registration.phone_country",
            type=str,
            stage=Stage.CONNECT,
            doc="Country of the telephone's numbering plan; none: no valid number.",
            optional=True,
        ),
        Fact(
            name="registration.mail_disposable",
            type=bool,
            stage=Stage.CONNECT,
            doc="Whether the mail address is of a provider of throw-away addresses.",
        ),
        *(
            Fact(
                name=f"registration.{name}_odd",
                type=float,
                stage=Stage.CONNECT,
                doc=f"Share of usual names that look more like one than {what}: 0.999 where one of "
                "a thousand is as odd. none: it has fewer than six Latin letters.",
                optional=True,
            )
            for name, what in _NAMES.items()
        ),
        Fact(
            name="registrations.same_network_hour",
            type=int,
            stage=Stage.CONNECT,
            doc="Registrations from the same network (IPv4 /24, IPv6 /48) within an hour of this "
            "one, itself included.",
        ),
        Fact(
            name="account.age_hours",
            type=float,
            stage=Stage.CONNECT,
            doc="Age of the account; none: not known.",
            unit="hours",
            optional=True,
        ),
        Fact(
            name="incidents.spam_month",
            type=int,
            stage=Stage.CONNECT,
            doc="Incidents of the account that a person closed as spam in the last 30 days.",
        ),
        *(
            Fact(
                name=f"incidents.{name}_month",
                type=int,
                stage=Stage.CONNECT,
                doc=f"{doc} in the last 30 days; without those that a person closed as not spam.",
            )
            for name, doc in _INCIDENTS.items()
        ),
    )
)


class AccountTestTable(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of an `[[account_test]]` table; this is their only list."""

    name: Name
    when: Annotated[str, Meta(max_length=MAX_TEXT, description="The condition.")] | UnsetType = (
        UNSET
    )
    penalty: (
        Annotated[int, Meta(ge=0, le=MAX_PENALTY, description="Taken from the rating of 100.")]
        | UnsetType
    ) = UNSET
    say: Annotated[str, Meta(max_length=1000, description="Why, in words.")] | UnsetType = UNSET
    lasts_days: (
        Annotated[
            float,
            Meta(
                ge=0,
                le=LONGEST_DAYS,
                description="How long the penalty stays once its condition holds no more.",
            ),
        ]
        | UnsetType
    ) = UNSET
    mode: (
        Annotated[RuleMode, Meta(description="shadow: told, and takes nothing from the rating.")]
        | UnsetType
    ) = UNSET
    enabled: Enabled | UnsetType = UNSET
    why: Why | UnsetType = UNSET


ACCOUNT_TESTS: Final = TableSort(
    "account_test",
    "account test",
    AccountTestTable,
    MAX_ACCOUNT_TESTS,
    (("when",), ("penalty",)),
)


class AccountPenalty(msgspec.Struct, frozen=True, kw_only=True):
    """What one test takes from a rating."""

    test: str
    points: int
    say: str
    mode: RuleMode
    lasts_s: float  # after it was last found; 0 = while its condition holds


class AccountTests:
    """The tests of a policy, as one function.

    Args:
        rules: a test each, its penalty as the score.
        lasts_s: how long penalties stay, by test.

    Raises:
        PolicyError: conditions or words that can't be used, each with its place.
    """

    def __init__(self, rules: Iterable[Rule] = (), lasts_s: Mapping[str, float] = {}) -> None:
        self.rules = tuple(rules)
        self.lasts_s = dict(lasts_s)
        self._compiled: CompiledRules = compile_rules(self.rules, ACCOUNT_SCHEMA)

    def penalties(self, facts: AccountFacts) -> tuple[list[AccountPenalty], list[str]]:
        """Return what speaks against an account, and which tests failed."""
        hits, failed = self._compiled.run(facts, Stage.CONNECT)
        found = [
            AccountPenalty(
                test=hit.name,
                points=round(hit.score),
                say=hit.say,
                mode=hit.mode,
                lasts_s=self.lasts_s.get(hit.name, 0.0),
            )
            for hit in hits
        ]
        return found, failed


NO_ACCOUNT_TESTS: Final = AccountTests()


def account_tests(tables: Iterable[Fields]) -> AccountTests:
    """Return the tests that files give together.

    Raises:
        PolicyError: as of `AccountTests`.
    """
    rules: list[Rule] = []
    lasts_s: dict[str, float] = {}
    for fields in tables:
        values = {key: field.value for key, field in fields.items()}
        lasts_s[values["name"]] = values.pop("lasts_days", 0.0) * DAY_S
        rules.append(
            Rule(
                score=float(values.pop("penalty")),
                places={key: field.place for key, field in fields.items()},
                **values,
            )
        )
    return AccountTests(rules, lasts_s)
