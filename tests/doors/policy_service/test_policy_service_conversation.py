"""Requests to a door: each thing said is told once, in the order of SMTP, and a refusal is repeated
without asking again.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.doors.policy_service.conversation import PolicyConversation
from oborona.doors.raw_message import RawMessage
from oborona.doors.reply import ACCEPT, CONTINUE, SessionReply, hold_reply, refusal_reply
from oborona.errors import PeerError
from oborona.types import Client, Stage

REFUSED = refusal_reply(550, "5.7.1", "refused")
HELD = hold_reply("held")


class Scripted:
    """Refuses whatever begins with "refuse", accepts "accept"; writes down what it is told."""

    waits = frozenset(Stage)

    def __init__(self, told: list[tuple[object, ...]]) -> None:
        self.told = told

    def refuse_holds(self) -> None:
        raise AssertionError("Postfix has a hold queue")

    def learn(self, macros: Mapping[str, str]) -> None:
        self.told.append(("learn", dict(macros)))

    async def connect(self, client: Client) -> SessionReply:
        self.told.append(("connect", client.ip, client.name, client.port))
        return _do(client.name)

    async def helo(self, name: str) -> SessionReply:
        self.told.append(("helo", name))
        return _do(name)

    async def mail(self, sender: str, params: tuple[str, ...]) -> SessionReply:
        self.told.append(("mail", sender))
        return _do(sender)

    async def rcpt(self, recipient: str, params: tuple[str, ...]) -> SessionReply:
        self.told.append(("rcpt", recipient))
        return _do(recipient)

    async def end_of_message(self, message: RawMessage) -> SessionReply:
        raise AssertionError("there is no content here")

    async def unseen(self, recipients: int, size: int) -> SessionReply:
        self.told.append(("unseen", recipients, size))
        return HELD if size > 1000 else CONTINUE

    def unjudged(self, message: RawMessage) -> SessionReply:
        raise AssertionError("there is no content here")

    def put_off(self, *, busy: bool) -> SessionReply:
        raise AssertionError("there is no content here")

    def abort(self) -> None:
        raise AssertionError("a new message says it")

    def close(self) -> None:
        self.told.append(("close",))


def _do(name: str) -> SessionReply:
    return (
        REFUSED if name.startswith("refuse") else ACCEPT if name.startswith("accept") else CONTINUE
    )


class Postfix:
    """Asks a conversation as smtpd does, and shows what the door was told."""

    def __init__(self, *, ends: bool = False, **client: str) -> None:
        self._told: list[tuple[object, ...]] = []
        self.conversation = PolicyConversation(lambda: Scripted(self._told), ends=ends)
        self.client = {
            "client_address": "192.0.2.9",
            "client_name": "Client.Example",
            "client_port": "4711",
            "server_port": "25",
            "helo_name": "mail.example",
        } | client

    async def ask(self, state: str, **said: str) -> SessionReply:
        return await self.conversation.ask({"protocol_state": state} | self.client | said)

    async def rcpt(self, instance: str, recipient: str = "a@x.test", **said: str) -> SessionReply:
        return await self.ask("RCPT", instance=instance, recipient=recipient, **said)

    def told(self) -> list[tuple[object, ...]]:
        """Return what was told since the last look, macros apart."""
        told = [each for each in self._told if each[0] != "learn"]
        self._told.clear()
        return told

    def learnt(self) -> list[dict[str, str]]:
        learnt = [dict(each[1]) for each in self._told if each[0] == "learn"]  # type: ignore[call-overload]
        self._told.clear()
        return learnt


CONNECTED = ("connect", "192.0.2.9", "client.example", 4711)
GREETED = ("helo", "mail.example")


async def test_delayed_restrictions_ask_everything_at_each_recipient() -> None:
    """smtpd_delay_reject = yes: four lists that name us, two recipients, and the end of the
    message.
    """
    postfix = Postfix(sender="ann@a.test")
    for recipient in ("b@x.test", "c@x.test"):
        for _ in range(4):
            assert await postfix.rcpt("1.0", recipient) is CONTINUE
    assert await postfix.ask("DATA", instance="1.0", recipient_count="2") is CONTINUE
    assert await postfix.ask("END-OF-MESSAGE", instance="1.0", recipient_count="2") is CONTINUE
    assert postfix.told() == [
        CONNECTED,
        GREETED,
        ("mail", "ann@a.test"),
        ("rcpt", "b@x.test"),
        ("rcpt", "c@x.test"),
    ]
    await postfix.rcpt("1.1", "b@x.test")
    assert postfix.told() == [("mail", "ann@a.test"), ("rcpt", "b@x.test")]


async def test_immediate_restrictions_ask_one_thing_at_a_time() -> None:
    """smtpd_delay_reject = no: until the first recipient a message has no instance."""
    postfix = Postfix()
    await postfix.ask("CONNECT", helo_name="")
    assert postfix.told() == [CONNECTED]
    await postfix.ask("EHLO")
    assert postfix.told() == [GREETED]
    for number in ("1.0", "1.1"):
        await postfix.ask("MAIL", sender="ann@a.test")
        assert postfix.told() == [("mail", "ann@a.test")]
        await postfix.rcpt(number, "b@x.test", sender="ann@a.test")
        await postfix.ask(
            "DATA", sender="ann@a.test", recipient="b@x.test", recipient_count="1", instance=number
        )
        assert postfix.told() == [("rcpt", "b@x.test")]
    # an old Postfix names the message before
    await postfix.ask("MAIL", sender="ann@a.test", instance="1.1")
    await postfix.rcpt("1.2", "b@x.test", sender="ann@a.test")
    assert postfix.told() == [("mail", "ann@a.test"), ("rcpt", "b@x.test")]


async def test_a_client_that_is_refused_is_asked_about_once_and_refused_at_every_state() -> None:
    postfix = Postfix(client_name="refuse.example", sender="ann@a.test")
    for instance in ("1.0", "1.1"):
        for recipient in ("a@x.test", "b@x.test"):
            assert await postfix.rcpt(instance, recipient) is REFUSED
    for state in ("CONNECT", "EHLO", "HELO", "VRFY", "ETRN", "MAIL", "DATA", "END-OF-MESSAGE"):
        assert await postfix.ask(state) is REFUSED
    told = postfix.told()
    assert told[0] == ("connect", "192.0.2.9", "refuse.example", 4711)
    assert told[1:] == [("close",), told[0]]  # CONNECT is a new client


async def test_a_refused_sender_refuses_each_recipient_of_that_message_alone() -> None:
    postfix = Postfix()
    for recipient in ("a@x.test", "b@x.test"):
        assert await postfix.rcpt("1.0", recipient, sender="refuse@a.test") is REFUSED
    assert postfix.told() == [CONNECTED, GREETED, ("mail", "refuse@a.test")]
    assert await postfix.rcpt("1.1", sender="ann@a.test") is CONTINUE
    assert postfix.told() == [("mail", "ann@a.test"), ("rcpt", "a@x.test")]
    assert await postfix.ask("MAIL", sender="refuse@a.test") is REFUSED
    assert await postfix.ask("MAIL", sender="refuse@a.test") is REFUSED
    assert len(postfix.told()) == 2, (
        "a client that says MAIL again is judged again, as a milter does"
    )


async def test_a_refused_helo_holds_until_the_client_says_another() -> None:
    postfix = Postfix()
    assert await postfix.ask("EHLO", helo_name="refuse.example") is REFUSED
    assert await postfix.rcpt("1.0", helo_name="refuse.example", sender="ann@a.test") is REFUSED
    assert await postfix.rcpt("1.0", sender="ann@a.test") is CONTINUE
    assert postfix.told() == [
        CONNECTED,
        ("helo", "refuse.example"),
        GREETED,
        ("mail", "ann@a.test"),
        ("rcpt", "a@x.test"),
    ]


async def test_a_refused_recipient_is_refused_in_each_list_and_the_next_is_asked_about() -> None:
    postfix = Postfix(sender="ann@a.test")
    assert await postfix.rcpt("1.0", "refuse@x.test") is REFUSED
    assert await postfix.rcpt("1.0", "refuse@x.test") is REFUSED
    assert await postfix.rcpt("1.0", "b@x.test") is CONTINUE
    assert postfix.told()[2:] == [
        ("mail", "ann@a.test"),
        ("rcpt", "refuse@x.test"),
        ("rcpt", "b@x.test"),
    ]


async def test_what_is_accepted_is_not_asked_about_any_more() -> None:
    postfix = Postfix(sender="ann@a.test")
    assert await postfix.rcpt("1.0", "accept@x.test") is ACCEPT
    assert await postfix.rcpt("1.0", "refuse@x.test") is ACCEPT
    assert postfix.told()[2:] == [("mail", "ann@a.test"), ("rcpt", "accept@x.test")]
    assert await postfix.rcpt("1.1", "refuse@x.test") is REFUSED
    trusted = Postfix(client_name="accept.example")
    assert await trusted.rcpt("1.0", "refuse@x.test") is ACCEPT
    assert len(trusted.told()) == 1


@pytest.mark.parametrize("state", ["DATA", "BDAT", "END-OF-MESSAGE"])
async def test_asked_at_the_content_alone_the_single_recipient_is_judged_once(state: str) -> None:
    postfix = Postfix(sender="ann@a.test", instance="1.0", recipient_count="1")
    assert await postfix.ask(state, recipient="refuse@x.test") is REFUSED
    assert postfix.told()[2:] == [("mail", "ann@a.test"), ("rcpt", "refuse@x.test")]
    several = Postfix(sender="ann@a.test", instance="1.0", recipient_count="2")
    assert await several.ask(state, recipient="") is CONTINUE
    assert several.told()[2:] == [("mail", "ann@a.test")]


async def test_a_message_that_is_whole_is_told_once_with_what_postfix_counts() -> None:
    postfix = Postfix(ends=True, sender="ann@a.test")
    end = {"recipient_count": "2", "queue_id": "4Zq"}
    for instance, size in (("1.0", "900"), ("1.1", "1900")):
        for recipient in ("a@x.test", "b@x.test"):
            assert await postfix.rcpt(instance, recipient) is CONTINUE
        assert await postfix.ask("DATA", instance=instance, recipient_count="2") is CONTINUE
        for _ in range(2):  # two lists ask
            reply = await postfix.ask("END-OF-MESSAGE", instance=instance, size=size, **end)
            assert reply is (CONTINUE if size == "900" else HELD)
        assert ("learn", {"i": "4Zq"}) in postfix._told
        assert postfix.told()[-3:] == [
            ("rcpt", "a@x.test"),
            ("rcpt", "b@x.test"),
            ("unseen", 2, int(size)),
        ]


async def test_asked_at_the_end_alone_a_message_is_told_whole_all_the_same() -> None:
    postfix = Postfix(ends=True, sender="ann@a.test", instance="1.0")
    one = {"recipient": "a@x.test", "recipient_count": "1", "size": "9"}
    assert await postfix.ask("END-OF-MESSAGE", **one) is CONTINUE
    assert postfix.told()[2:] == [("mail", "ann@a.test"), ("rcpt", "a@x.test"), ("unseen", 1, 9)]
    several = {"recipient": "", "recipient_count": "70", "size": "9", "instance": "1.1"}
    assert await postfix.ask("END-OF-MESSAGE", **several) is CONTINUE
    assert postfix.told() == [("mail", "ann@a.test"), ("unseen", 70, 9)]


async def test_what_is_refused_before_is_not_told_whole() -> None:
    postfix = Postfix(ends=True, sender="refuse@a.test", instance="1.0")
    assert await postfix.ask("END-OF-MESSAGE", recipient="a@x.test", size="9") is REFUSED
    assert postfix.told()[2:] == [("mail", "refuse@a.test")]


@pytest.mark.parametrize("number", ["", "-1", "1e9", "٤٢", "9" * 5000, "1.5", " 7"])
async def test_a_number_that_is_none_is_nothing(number: str) -> None:
    postfix = Postfix(ends=True, sender="ann@a.test", instance="1.0")
    await postfix.ask("END-OF-MESSAGE", recipient_count=number, size=number)
    assert postfix.told()[-1] == ("unseen", 0, 0)


async def test_where_nobody_wants_to_hear_it_an_end_is_nothing_new() -> None:
    postfix = Postfix(sender="ann@a.test")
    await postfix.rcpt("1.0")
    postfix.told()
    assert await postfix.ask("END-OF-MESSAGE", instance="1.0", size="9000") is CONTINUE
    assert postfix.told() == []


@pytest.mark.parametrize("state", ["", "rcpt", "STARTTLS", "ÜBER"])
async def test_in_a_state_that_is_not_known_nothing_is_asked(state: str) -> None:
    postfix = Postfix(client_name="refuse.example")
    assert await postfix.ask(state) is CONTINUE
    assert postfix.told() == []


@pytest.mark.parametrize("state", ["VRFY", "ETRN"])
async def test_a_client_may_ask_where_it_may_connect(state: str) -> None:
    postfix = Postfix()
    assert await postfix.ask(state, recipient="refuse@x.test", etrn_domain="x.test") is CONTINUE
    assert postfix.told() == [CONNECTED, GREETED]


@pytest.mark.parametrize(
    "change",
    [
        {"client_address": "192.0.2.10"},
        {"client_port": "4712"},
        {"client_name": "other.example"},
        {"server_port": "587"},
    ],
    ids=lambda change: next(iter(change)),
)
async def test_another_client_ends_the_session_before(change: dict[str, str]) -> None:
    postfix = Postfix(sender="ann@a.test")
    await postfix.rcpt("1.0")
    postfix.told()
    await postfix.rcpt("1.0", **change)
    told = postfix.told()
    assert told[0] == ("close",)
    assert [each[0] for each in told[1:]] == ["connect", "helo", "mail", "rcpt"]


async def test_xclient_makes_another_client_of_one_connection() -> None:
    postfix = Postfix()
    await postfix.ask("CONNECT", helo_name="", client_address="127.0.0.1", client_name="unknown")
    await postfix.ask("XCLIENT", helo_name="")
    assert postfix.told() == [("connect", "127.0.0.1", "", 4711), ("close",), CONNECTED]


async def test_without_a_port_the_instance_holds_a_session_together() -> None:
    postfix = Postfix(client_port="", sender="ann@a.test")
    await postfix.rcpt("1.0", "a@x.test")
    await postfix.rcpt("1.0", "b@x.test")
    assert [each[0] for each in postfix.told()] == ["connect", "helo", "mail", "rcpt", "rcpt"]
    await postfix.rcpt("1.1", "a@x.test")
    assert [each[0] for each in postfix.told()] == ["close", "connect", "helo", "mail", "rcpt"]
    await postfix.rcpt("", "a@x.test")
    await postfix.rcpt("", "a@x.test")
    assert [each[0] for each in postfix.told()] == ["close", "connect", "helo", "mail", "rcpt"] * 2


@pytest.mark.parametrize(
    ("said", "client"),
    [
        ({"client_name": "unknown"}, ("192.0.2.9", "", 4711)),
        ({"client_name": "Mail.Example."}, ("192.0.2.9", "mail.example", 4711)),
        ({"client_address": "2001:DB8::0:1"}, ("2001:db8::1", "client.example", 4711)),
        ({"client_address": "::ffff:192.0.2.9"}, ("192.0.2.9", "client.example", 4711)),
        ({"client_address": "", "client_name": ""}, ("", "", 4711)),
        ({"client_address": "unknown"}, ("", "client.example", 4711)),
        ({"client_port": "unknown"}, ("192.0.2.9", "client.example", 0)),
        ({"client_port": "65536"}, ("192.0.2.9", "client.example", 0)),
        ({"client_port": "9" * 5000}, ("192.0.2.9", "client.example", 0)),
        ({"client_port": "٤٢"}, ("192.0.2.9", "client.example", 0)),
    ],
)
async def test_a_client_is_read_as_from_a_milter(
    said: dict[str, str], client: tuple[str, str, int]
) -> None:
    postfix = Postfix(ends=False, **said)
    await postfix.ask("CONNECT")
    assert postfix.told()[0] == ("connect", *client)


async def test_an_address_that_is_none_breaks_the_protocol() -> None:
    postfix = Postfix(client_address="192.0.2.999")
    with pytest.raises(PeerError, match="not a client address"):
        await postfix.ask("CONNECT")
    postfix.conversation.close()
    assert postfix.told() == []


@pytest.mark.parametrize(
    ("internal", "written"),
    [
        ("", ""),
        ("ann@a.test", "ann@a.test"),
        ("postmaster", "postmaster"),
        ("a..b.@c.test", "a..b.@c.test"),
        ("юля@почта.test", "юля@почта.test"),
        ("x@[192.0.2.1]", "x@[192.0.2.1]"),
        ('a b"c\\d@y.test', '"a b\\"c\\\\d"@y.test'),
        ("a@b@c.test", '"a@b"@c.test'),
        ("a b", '"a b"'),
    ],
)
async def test_addresses_are_told_as_smtp_writes_them(internal: str, written: str) -> None:
    postfix = Postfix(sender=internal)
    await postfix.rcpt("1.0", internal)
    assert postfix.told()[2:] == [("mail", written), ("rcpt", written)]


async def test_what_the_door_learns_comes_before_the_step_that_needs_it() -> None:
    postfix = Postfix(
        reverse_client_name="ptr.example",
        sasl_method="PLAIN",
        sasl_username="joe",
        sender="ann@a.test",
    )
    await postfix.rcpt("1.0", "a@x.test", queue_id="")
    assert [each[0] for each in postfix._told] == [
        "learn",
        "connect",
        "helo",
        "learn",
        "mail",
        "rcpt",
    ]
    assert postfix.learnt() == [
        {
            "client_addr": "192.0.2.9",
            "client_name": "Client.Example",
            "client_ptr": "ptr.example",
            "daemon_port": "25",
        },
        {"auth_type": "PLAIN", "auth_authen": "joe"},
    ]
    await postfix.rcpt("1.0", "b@x.test", queue_id="4ABC")
    assert postfix.learnt() == [{"i": "4ABC"}]
    await postfix.rcpt("1.1", sasl_method="", sasl_username="")
    assert postfix.learnt() == [{"auth_type": "", "auth_authen": ""}]


async def test_the_end_closes_the_door_once() -> None:
    postfix = Postfix()
    postfix.conversation.close()
    assert postfix.told() == []
    await postfix.ask("CONNECT")
    postfix.conversation.close()
    postfix.conversation.close()
    assert postfix.told().count(("close",)) == 1


NAMES = [
    "protocol_state",
    "client_address",
    "client_name",
    "client_port",
    "server_port",
    "helo_name",
    "sender",
]
NAMES += [
    "recipient",
    "instance",
    "queue_id",
    "sasl_username",
    "reverse_client_name",
    "size",
    "recipient_count",
    "unheard_of",
]
VALUES = [
    "CONNECT",
    "EHLO",
    "MAIL",
    "RCPT",
    "DATA",
    "END-OF-MESSAGE",
    "VRFY",
    "192.0.2.9",
    "::1",
    "unknown",
    "0",
    "25",
    "1.0",
    "",
]
VALUES += ["refuse@a.test", "ann@a.test", "accept", "4711"]


@given(
    st.lists(
        st.dictionaries(st.sampled_from(NAMES), st.sampled_from(VALUES) | st.text(max_size=20)),
        max_size=12,
    ),
    st.booleans(),
)
async def test_any_requests_keep_the_order_of_smtp(
    requests: list[dict[str, str]], ends: bool
) -> None:
    """Invariant: nothing but PeerError.

    A door hears connect first and once, mail before rcpt and the end, close last and once; the end
    once a message.
    """
    doors: list[list[tuple[object, ...]]] = []

    def make() -> Scripted:
        doors.append([])
        return Scripted(doors[-1])

    conversation = PolicyConversation(make, ends=ends)
    for request in requests:
        try:
            await conversation.ask(request)
        except PeerError:
            break
    conversation.close()
    for told in doors:
        steps = [each[0] for each in told if each[0] != "learn"]
        assert steps[0] == "connect"
        assert steps[-1] == "close"
        assert (steps.count("connect"), steps.count("close")) == (1, 1)
        for later in ("rcpt", "unseen"):
            assert later not in steps or "mail" in steps[: steps.index(later)]
        assert steps.count("unseen") <= steps.count("mail") * ends
