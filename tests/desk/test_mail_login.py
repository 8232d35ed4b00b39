"""Signing in by a link that goes to a mailbox, through a real mail server."""

import queue
import re
import time
from collections.abc import AsyncIterator, Iterator
from email import message_from_bytes
from email.policy import default
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from aiosmtpd.controller import Controller

from oborona.errors import ConfigError
from oborona.people import mail_link_book
from oborona.people.mail_link_book import LINK_S, MOST, PERIOD_S, MailLinkBook
from oborona.people.person import Person
from oborona.people.rights import Role
from oborona.people.store import PeopleStore, new_person
from tests.desk.login_desk import LoginDesk, login_desk
from tests.peers.ports import free_port

NOW = 1_800_000_000.0


class Postbox:
    """Takes mail by SMTP."""

    def __init__(self) -> None:
        self.mails = queue.Queue[tuple[list[str], bytes]]()

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802
        self.mails.put((envelope.rcpt_tos, envelope.content))
        return "250 taken"

    def link(self, to: str) -> str:
        recipients, raw = self.mails.get(timeout=20)
        assert recipients == [to]
        text = message_from_bytes(raw, policy=default).get_content()
        found = re.search(r"https://mx[.]example/sign-in/mail/([\w-]{22})\s", text)
        assert found, text
        return found[1]


@pytest.fixture
def postbox() -> Iterator[tuple[Postbox, int]]:
    box, port = Postbox(), free_port()
    controller = Controller(box, hostname="127.0.0.1", port=port)
    controller.start()
    yield box, port
    controller.stop()


def settings(port: int) -> dict[str, str]:
    return {
        "console.readers": "mail",
        "console.reader_domains": "shop.example",
        "console.url": "https://mx.example",
        "alarm.mail_server": f"127.0.0.1:{port}",
        "site.name": "mx.example",
    }


@pytest_asyncio.fixture
async def desk(tmp_path: Path, postbox: tuple[Postbox, int]) -> AsyncIterator[LoginDesk]:
    async with login_desk(tmp_path, settings(postbox[1])) as found:
        yield found


def new(name: str, role: Role, *addresses: str) -> Person:
    return new_person(
        name, roles=frozenset({role}), domains=frozenset(), addresses=frozenset(addresses),
        language="", made_by="root", now=time.time(),
    )  # fmt: skip


@pytest.mark.asyncio
async def test_a_reader_is_made_by_their_mailbox_and_sees_it_alone(
    desk: LoginDesk, postbox: tuple[Postbox, int]
) -> None:
    assert (await desk.call("login.ways"))[1]["mail"]
    sent = await desk.call("login.mail_send", address=" Bob@Shop.example ", language="ru")
    assert sent == (200, {"sent": True})
    link = postbox[0].link("bob@shop.example")
    status, started = await desk.call("login.mail", token=link)
    assert status == 200, started
    caller = started["caller"]
    assert (caller["name"], caller["roles"]) == ("bob@shop.example", ["reader"])
    assert (caller["scope"]["domains"], caller["scope"]["addresses"]) == (
        [], ["bob@shop.example"],
    )  # fmt: skip
    _, tries = await desk.call("me.attempts", bearer=started["token"])
    assert [(one["outcome"], one["way"]) for one in tries["attempts"]] == [("done", "mail")]
    # once
    again = await desk.call("login.mail", token=link)
    assert again == await desk.call("login.mail", token="nonsense")
    assert again[0] == 404


@pytest.mark.asyncio
async def test_the_answer_is_the_same_whoever_has_a_mailbox(
    desk: LoginDesk, postbox: tuple[Postbox, int]
) -> None:
    with desk.people() as store:
        store.add(new("anna@shop.example", Role.ADMIN, "anna@shop.example"))
        store.add(new("carl@far.example", Role.READER, "carl@far.example"))
        store.add(new("dora@far.example", Role.READER))
    for address in (
        "eve@elsewhere.example", "anna@shop.example", "dora@far.example", "no address", "",
        "\u202e@shop.example", "a b@shop.example", "x" * 5000 + "@shop.example",
    ):  # fmt: skip
        answer = await desk.call("login.mail_send", address=address)
        assert answer == (200, {"sent": True}), address
    # what is added has its link, and nothing else was sent before it
    await desk.call("login.mail_send", address="carl@far.example")
    link = postbox[0].link("carl@far.example")
    assert postbox[0].mails.empty()
    _, started = await desk.call("login.mail", token=link)
    assert started["caller"]["name"] == "carl@far.example"


@pytest.mark.asyncio
async def test_who_became_more_than_a_reader_meanwhile_is_refused(
    desk: LoginDesk, postbox: tuple[Postbox, int]
) -> None:
    await desk.call("login.mail_send", address="bob@shop.example")
    link = postbox[0].link("bob@shop.example")
    with desk.people() as store:
        store.add(new("bob@shop.example", Role.SUPPORT, "bob@shop.example"))
    assert (await desk.call("login.mail", token=link))[0] == 404


@pytest.mark.asyncio
async def test_ten_an_hour_for_an_address_and_for_a_network(
    desk: LoginDesk, postbox: tuple[Postbox, int]
) -> None:
    for address, place in (
        ("bob@shop.example", "192.0.2.{}"), ("eve@elsewhere.example", "198.51.100.{}"),
    ):  # fmt: skip
        for n in range(MOST):
            status, _ = await desk.call("login.mail_send", address=address, place=place.format(n))
            assert status == 200
        status, words = await desk.call(
            "login.mail_send", address=f"x{address}", place=place.format(200)
        )
        assert (status, words["wait_s"] > 3500) == (429, True)
        status, _ = await desk.call("login.mail_send", address=address, place="203.0.113.7")
        assert status == 429
    assert len([postbox[0].link("bob@shop.example") for _ in range(MOST)]) == MOST


@pytest.mark.asyncio
async def test_a_mail_server_that_is_away_changes_no_answer(tmp_path: Path) -> None:
    async with login_desk(tmp_path, settings(9)) as desk:
        sent = await desk.call("login.mail_send", address="bob@shop.example")
        assert sent == (200, {"sent": True})


@pytest.mark.asyncio
async def test_links_lead_somewhere(tmp_path: Path) -> None:
    told = settings(9) | {"console.url": "", "console.listen": "unix:/run/x.sock"}
    with pytest.raises(ConfigError, match=r"console\.url"):
        async with login_desk(tmp_path, told):
            pass


def test_a_link_is_good_for_a_while_and_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with PeopleStore(tmp_path / "people.db") as store:
        links = MailLinkBook(store)
        assert links.use(links.make("a@x.example", NOW), NOW + LINK_S) == ""
        assert links.use(links.make("a@x.example", NOW), NOW - 1) == ""
        token = links.make("a@x.example", NOW)
        assert links.use(token, NOW + LINK_S - 1) == "a@x.example"
        assert links.use(token, NOW) == ""
        assert links.use("", NOW) == links.use("\u0430" * 999, NOW) == ""
        monkeypatch.setattr(mail_link_book, "MAX_LINKS", 3)
        many = [links.make(f"{n}@x.example", NOW + n) for n in range(5)]
        assert [bool(links.use(one, NOW + 5)) for one in many] == [False, False, True, True, True]


def test_the_hour_slides(tmp_path: Path) -> None:
    with PeopleStore(tmp_path / "people.db") as store:
        links = MailLinkBook(store)
        for n in range(MOST):
            assert links.charge("a@x.example", f"192.0.{n}.1", NOW + n) == 0
        assert links.charge("a@x.example", "203.0.113.1", NOW + 100) == PERIOD_S - 100
        assert links.charge("a@x.example", "203.0.113.1", NOW + PERIOD_S) == 0
        assert links.charge("a@x.example", "203.0.113.1", NOW + PERIOD_S) > 0
        assert links.charge("\ud800", "\ud800", NOW) == 0
