"""What must hold of accounts, excesses and queues that other programs tell, whatever octets they
are.
"""

from __future__ import annotations

import time
from contextlib import suppress

from oborona.accounts.excess import WrongExcess, check_excess, parse_excess
from oborona.accounts.import_lines import WrongAccount, parse_account_line
from oborona.accounts.rating.facts import is_disposable, phone_country
from oborona.accounts.store.accounts import check_reason
from oborona.accounts.store.rows import DeedKind
from oborona.desk.outgoing.queue_listing import (
    EXIM_ID,
    POSTFIX_ID,
    exim_listing,
    postfix_listing,
)
from oborona.doors.http.account_orders import order_of
from oborona.errors import PeerError


def told(octets: bytes) -> None:
    """A line is an account or refused, and so it is an excess, or a reason to ban.

    What is taken of an account can be shown in one line, and has facts.
    """
    with suppress(WrongAccount):
        record = parse_account_line(octets)
        assert all(login == login.lower() and login.isprintable() for login in record.logins)
        assert record.name.isprintable()
        if record.registration is not None:
            told_of = record.registration
            assert f"{told_of.mail}{told_of.user_name}{told_of.payment}".isprintable()
            is_disposable(told_of.mail.rpartition("@")[2].lower())
            country = phone_country(told_of.phone, told_of.country)
            assert country is None or len(country) == len("US")
    with suppress(WrongExcess):
        excess = parse_excess(octets)
        check_excess(excess)
        assert excess.account.isprintable()
    with suppress(PeerError):
        order = order_of(octets, DeedKind.BAN, "", 0.0)
        check_reason(order.why, order.until)


def queued(octets: bytes) -> None:
    """What a mail server lists as held has ids that a command may be given, times that a calendar
    knows, and nothing twice.
    """
    output = octets.decode("utf-8", "replace")
    for pattern, listing in (
        (POSTFIX_ID, postfix_listing(output)),
        (EXIM_ID, exim_listing(output)),
    ):
        idents = [message.queue_id for message in listing.messages]
        assert len(set(idents)) == len(idents)
        assert all(map(pattern.fullmatch, idents))
        for message in listing.messages:
            time.localtime(message.since)
