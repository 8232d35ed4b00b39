"""The facts that tests of accounts name, from what is known of one."""

from __future__ import annotations

from collections.abc import Mapping

import phonenumbers
from disposable_email_domains import blocklist

from oborona.accounts.account import Account, Registration
from oborona.accounts.excess import LISTED
from oborona.accounts.rating.name_letters import oddness
from oborona.policy.account_tests import AccountFacts
from oborona.policy.limit_table import LimitCount

HOUR_S = 3600.0
NOWHERE = "001"  # the library's word for numbers of no country


def account_facts(
    account: Account,
    *,
    same_network: int,
    spam_incidents: int,
    incidents: Mapping[str, int],
    now: float,
) -> AccountFacts:
    """Return what tests may name.

    Args:
        account: as the store knows it.
        same_network: registrations of its network within an hour of its own.
        spam_incidents: in the last 30 days, by a person's word.
        incidents: in the last 30 days, by what was too much; none that a person called no spam.
        now: Unix seconds.
    """
    told = account.registration or Registration()
    born = account.since or told.time
    domain = told.mail.rpartition("@")[2].lower() if "@" in told.mail else ""
    return AccountFacts(
        registration_told=account.registration is not None,
        registration_country=told.country,
        registration_phone_country=phone_country(told.phone, told.country),
        registration_mail_domain=domain,
        registration_mail_disposable=is_disposable(domain),
        registration_mail_odd=oddness(told.mail.rpartition("@")[0]),
        registration_user_name=told.user_name,
        registration_user_name_odd=oddness(told.user_name),
        registration_payment=told.payment,
        registration_payment_country=told.payment_country,
        registrations_same_network_hour=same_network,
        account_age_hours=max(0.0, (now - born) / HOUR_S) if born else None,
        incidents_spam_month=spam_incidents,
        incidents_traps_month=incidents.get(LimitCount.TRAPS, 0),
        incidents_complaints_month=incidents.get(LimitCount.COMPLAINTS, 0),
        incidents_unknown_users_month=incidents.get(LimitCount.UNKNOWN_USERS, 0),
        incidents_listed_month=incidents.get(LISTED, 0),
    )


def is_disposable(domain: str) -> bool:
    """Tell whether a domain, or one above it, gives throw-away addresses.

    Source: disposable-email-domains, https://github.com/disposable-email-domains.
    """
    while "." in domain:
        if domain in blocklist:
            return True
        domain = domain.partition(".")[2]
    return False


def phone_country(phone: str, country: str) -> str | None:
    """Return the country of a telephone number; None: it is no valid number.

    Args:
        phone: as it was given.
        country: whose numbers it is taken for where it begins with no country code.
    """
    if not phone:
        return None
    try:
        number = phonenumbers.parse(phone, country or None)
    except phonenumbers.NumberParseException:
        return None
    if not phonenumbers.is_valid_number(number):
        return None
    region = phonenumbers.region_code_for_number(number)
    return None if region in (None, NOWHERE) else region
