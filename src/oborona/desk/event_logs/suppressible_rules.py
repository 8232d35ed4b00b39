"""Which rules of an event log may be kept from a person; the policy is read for it."""

from __future__ import annotations

from oborona.desk.site import Site
from oborona.errors import ConfigError
from oborona.eventlog.known_logs import schemas
from oborona.eventlog.rule_names import ABNORMAL, DUPLICATE, FRAUD_PERSON
from oborona.eventlog.ruled_logs import as_ruled
from oborona.eventlog.schema import LogSchema
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import load_policy
from oborona.toml import did_you_mean


def check_suppressible(site: Site, schema: LogSchema, rule: str) -> None:
    """Refuse a rule that can't be suppressed.

    Raises:
        ConfigError: it says nothing of a person, or there is none of the name.
        PolicyError: the policy can't be used.
    """
    if rule == DUPLICATE:
        raise ConfigError(f"{DUPLICATE} says nothing of a person, and is not suppressed")
    ruled = [as_ruled(one) for one in schemas(site.loaded.settings)]
    policy = load_policy(site.policy_folders, SCHEMA, logs=ruled)
    rules = policy.events.by_log[as_ruled(schema).name].rules
    known = (ABNORMAL, FRAUD_PERSON, *(one.name for one in rules if one.enabled))
    if rule not in known:
        raise ConfigError(
            f"no rule of {schema.name} is called {rule[:60]!r}{did_you_mean(rule, known)}"
        )
