"""Facts of the envelope: the client, who stands behind the message, HELO, MAIL FROM and RCPT TO."""

from functools import partial
from typing import Annotated

import msgspec

from oborona.authentication.model import AuthResult
from oborona.policy.expression.forms import TextForm
from oborona.policy.facts.declaration import POINTS, SHARE, FactArea, FactDeclaration, Words
from oborona.reputation.flag import ReputationFlag
from oborona.types import Stage

_time = partial(FactDeclaration, FactArea.TIME, Stage.CONNECT)
_client = partial(FactDeclaration, FactArea.CLIENT, Stage.CONNECT)
_sender = partial(FactDeclaration, FactArea.SENDER, Stage.SENDER)
_recipient = partial(FactDeclaration, FactArea.SENDER, Stage.RECIPIENT)
# no answer at RCPT TO may tell which addresses are traps
_traps = partial(FactDeclaration, FactArea.SENDER, Stage.CONTENT)
_spf = partial(FactDeclaration, FactArea.AUTHENTICATION, Stage.SENDER)
_sender_history = partial(FactDeclaration, FactArea.REPUTATION, Stage.SENDER)
_history = partial(FactDeclaration, FactArea.REPUTATION, Stage.CONTENT)
_SPF = (
    AuthResult.NONE,
    AuthResult.NEUTRAL,
    AuthResult.PASS,
    AuthResult.FAIL,
    AuthResult.SOFTFAIL,
    AuthResult.TEMPERROR,
    AuthResult.PERMERROR,
)


class EnvelopeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of client, sender and recipients, and what is remembered of them."""

    time_now: Annotated[
        float,
        _time(
            "time.now",
            (
                "when the client was judged, or the message; the functions hour() and "
                "weekday() tell it by a time zone"
            ),
            1_700_000_000.0,
            unit="Unix seconds",
        ),
    ] = 0.0
    client_ip: Annotated[str, _client("client.ip", "address of the SMTP client", "192.0.2.25")] = ""
    client_name: Annotated[
        str,
        _client(
            "client.name",
            "verified rDNS name of the client, empty when it has none",
            "mail.example.org",
        ),
    ] = ""
    client_local: Annotated[
        bool,
        _client(
            "client.local",
            "the client is a loopback, link-local or private address, or no network client at all",
            False,
        ),
    ] = False
    client_own: Annotated[
        bool,
        _client(
            "client.own",
            (
                "one of ours: it logged in, is in a network of the site, came by a submission "
                "port, or is no client on the Internet"
            ),
            False,
        ),
    ] = False
    outgoing: Annotated[
        bool,
        _client(
            "outgoing",
            (
                "one of ours who is proved sends it: by a login, a network of the site or a "
                "submission port; it is counted under out, everything else under in"
            ),
            False,
        ),
    ] = False
    client_country: Annotated[
        str | None,
        _client(
            "client.country",
            "country of the client's address; none where it is not known, as without a database",
            "NL",
            unit="ISO 3166-1, two capital letters",
            form=TextForm.CAPITAL,
            longest=2,
        ),
    ] = None
    client_as_number: Annotated[
        int | None,
        _client(
            "client.as_number",
            "number of the autonomous system that announces it; none where it is not known",
            64496,
        ),
    ] = None
    client_as_name: Annotated[
        str | None,
        _client(
            "client.as_name",
            "whose that is, as its database has it; none where it is not known",
            "EXAMPLE-NET",
        ),
    ] = None
    lists_client: Annotated[
        Words,
        _client(
            "lists.client",
            "DNS lists that list the client's address or name",
            frozenset({"SPAMHAUS_ZEN"}),
            form=TextForm.CAPITAL,
        ),
    ] = frozenset()
    iprev_result: Annotated[
        str,
        _client(
            "iprev.result",
            "does the client's name lead back to it",
            "pass",
            words=(
                AuthResult.PASS,
                AuthResult.FAIL,
                AuthResult.TEMPERROR,
                AuthResult.PERMERROR,
                AuthResult.NONE,
            ),
        ),
    ] = AuthResult.NONE.value
    repip_flag: Annotated[
        str,
        _client(
            "repip.flag",
            "what the counters remember of the address",
            "unknown",
            words=tuple(ReputationFlag),
        ),
    ] = ReputationFlag.UNKNOWN.value
    repip_share: Annotated[
        float,
        _client(
            "repip.share",
            "expected share of bad mail from the address; 0.5 where nothing is known",
            0.5,
            unit=SHARE,
        ),
    ] = 0.5
    sender_proved: Annotated[
        str,
        _sender_history(
            "sender.proved",
            "MAIL FROM, where SPF passed for its domain; else empty",
            "anna@example.org",
            form=TextForm.SMALL,
        ),
    ] = ""
    repuser_flag: Annotated[
        str,
        _sender_history(
            "repuser.flag",
            (
                "what is remembered of the login, or else of the proved author, or else of "
                "the proved sender"
            ),
            "good",
            words=tuple(ReputationFlag),
        ),
    ] = ReputationFlag.UNKNOWN.value
    repuser_share: Annotated[
        float,
        _sender_history(
            "repuser.share",
            "expected share of bad mail from him; 0.5 where nothing is known",
            0.05,
            unit=SHARE,
        ),
    ] = 0.5
    repuser_first: Annotated[
        bool | None,
        _history(
            "repuser.first",
            (
                "no recipient, of the first four, had mail from this author (MAIL FROM where "
                "none is proved) in two weeks, the last 24 hours left out; none where that is "
                "not known"
            ),
            True,
        ),
    ] = None
    repuser_elsewhere: Annotated[
        bool | None,
        _history(
            "repuser.elsewhere",
            (
                "the account sends from an address from which none of its mail left on an earlier "
                "day of the last two weeks, the last 24 hours left out, or from which more than a "
                "quarter of it was held or refused; none for mail without a login"
            ),
            True,
        ),
    ] = None
    author: Annotated[
        str,
        _history(
            "author",
            "the address in From, where authentication proved it; else empty",
            "anna@example.org",
            form=TextForm.SMALL,
            before="repuser.flag",
        ),
    ] = ""
    author_domain: Annotated[
        str,
        _history(
            "author.domain",
            "its registrable domain, where it was proved",
            "example.org",
            form=TextForm.SMALL,
            before="repuser.flag",
        ),
    ] = ""
    repentity_flag: Annotated[
        str,
        _history(
            "repentity.flag",
            (
                "what is remembered of the worst of the message's links, domains, telephones, "
                "wallets, attachments and pictures"
            ),
            "bad",
            words=tuple(ReputationFlag),
        ),
    ] = ReputationFlag.UNKNOWN.value
    repentity_worst: Annotated[
        float, _history("repentity.worst", "its trust, 0 or below", -85.0, unit=POINTS)
    ] = 0.0
    repentity_bad: Annotated[int, _history("repentity.bad", "how many of them are bad", 1)] = 0
    repentity_sudden: Annotated[
        int,
        _history(
            "repentity.sudden",
            (
                "link domains that were quiet for two weeks, and are today in many messages "
                "of many authors"
            ),
            1,
        ),
    ] = 0
    repentity_fresh: Annotated[
        int, _history("repentity.fresh", "link domains that no message had before the last day", 1)
    ] = 0
    repentity_shared: Annotated[
        Words,
        _history(
            "repentity.shared",
            (
                "link domains that many senders share, which are not judged: shorteners, "
                "places for everybody's files"
            ),
            frozenset({"bit.ly"}),
            form=TextForm.SMALL,
        ),
    ] = frozenset()
    repentity_why: Annotated[
        str,
        _history(
            "repentity.why",
            "the worst of them, as text",
            "link domain win.example: 390 spam of 400",
        ),
    ] = ""
    karma: Annotated[
        float,
        _history(
            "karma",
            (
                "one number for who stands behind the message, from all that is remembered; 0 "
                "where nothing is"
            ),
            37.0,
            unit=POINTS,
        ),
    ] = 0.0
    karma_why: Annotated[
        str,
        _history("karma.why", "its parts", "author +31 (1 spam of 90), domain +6 (3 spam of 400)"),
    ] = ""
    helo: Annotated[str, _sender("helo", "what the client called itself", "mail.example.org")] = ""
    helo_is_client: Annotated[
        bool | None,
        _sender(
            "helo.is_client",
            (
                "the HELO name has the registrable domain of the client's verified name; none "
                "where one of the two is missing"
            ),
            True,
        ),
    ] = None
    lists_sender: Annotated[
        Words,
        _sender(
            "lists.sender",
            "DNS lists that list the HELO name or the domain of MAIL FROM",
            frozenset({"SPAMHAUS_DBL"}),
            form=TextForm.CAPITAL,
        ),
    ] = frozenset()
    spf_result: Annotated[str, _spf("spf.result", "SPF of MAIL FROM", "pass", words=_SPF)] = (
        AuthResult.NONE.value
    )
    spf_domain: Annotated[
        str, _spf("spf.domain", "the domain that was checked", "example.org", form=TextForm.SMALL)
    ] = ""
    spf_helo: Annotated[str, _spf("spf.helo", "SPF of the HELO name", "none", words=_SPF)] = (
        AuthResult.NONE.value
    )
    sender: Annotated[
        str,
        _sender(
            "sender", "MAIL FROM, empty for a bounce", "anna@example.org", before="lists.sender"
        ),
    ] = ""
    sender_domain: Annotated[
        str,
        _sender(
            "sender.domain",
            "domain of MAIL FROM",
            "example.org",
            form=TextForm.SMALL,
            before="lists.sender",
        ),
    ] = ""
    login: Annotated[
        str, _sender("login", "SASL login, empty when the client did not authenticate", "bob")
    ] = ""
    recipient: Annotated[
        str,
        _recipient(
            "recipient",
            "the recipient that is being asked about; of a whole message the first",
            "bob@example.com",
        ),
    ] = ""
    recipient_domain: Annotated[
        str, _recipient("recipient.domain", "its domain", "example.com", form=TextForm.SMALL)
    ] = ""
    recipients: Annotated[
        int,
        _recipient(
            "recipients",
            "how many recipients the message has; while one is asked about, that one included",
            1,
        ),
    ] = 0
    recipients_traps: Annotated[
        int, _traps("recipients.traps", "how many of them are traps", 1)
    ] = 0
