"""Digests: sent once a day where there is news, and their links, through the desk's door."""

from __future__ import annotations

import email
import email.policy
import re
import socketserver
import threading
import time
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import msgspec
import pytest

from oborona import secret, state_files
from oborona.audit.store import AuditStore
from oborona.console.pages.my_texts import BECAUSE
from oborona.desk.call import CallError
from oborona.desk.call_runner import CallRunner
from oborona.desk.calls import CALLS
from oborona.desk.digest.links import DigestLinks, LinkOverError
from oborona.desk.digest.postman import DigestPostman
from oborona.desk.digest.texts import RUSSIAN
from oborona.desk.messages.reader_words import (
    AGAIN,
    AT_THE_DOOR,
    NOT_ACCEPTED,
    OF_GROUPS,
    OTHERWISE,
)
from oborona.desk.site import Site
from oborona.ident import to_text
from oborona.people.digest_book import OFF, DigestBook, DigestState
from oborona.people.digest_link import DigestAct, DigestLink, sign_link
from oborona.people.person import Person, PersonState
from oborona.people.rights import Role
from oborona.people.store import PeopleStore, new_person
from oborona.types import Action, Finding
from tests.desk.messages_site import DAN, JOE, entry_of, fill, make_site
from tests.desk.test_own_acts import MOVES, kept, moves

URL = "https://mx.example.test"


class MailSink(socketserver.ThreadingTCPServer):
    """A mail server that takes all, or refuses all."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self) -> None:
        self.taken: list[EmailMessage] = []
        self.to: list[str] = []
        self.refuses = False
        super().__init__(("127.0.0.1", 0), _Session)


class _Session(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        sink: Any = self.server
        self.wfile.write(b"220 sink\r\n")
        while line := self.rfile.readline():
            word = line[:4].upper()
            if word == b"RCPT":
                sink.to.append(line.decode().strip().partition(":")[2])
            if word == b"RCPT" and sink.refuses:
                self.wfile.write(b"451 4.3.0 later\r\n")
            elif word == b"DATA":
                self.wfile.write(b"354 go\r\n")
                body = b""
                while (part := self.rfile.readline()) != b".\r\n":
                    body += part.removeprefix(b".") if part.startswith(b"..") else part
                made = email.message_from_bytes(body, policy=email.policy.default)
                assert isinstance(made, EmailMessage)
                sink.taken.append(made)
                self.wfile.write(b"250 ok\r\n")
            elif word == b"QUIT":
                self.wfile.write(b"221 bye\r\n")
                return
            else:
                self.wfile.write(b"250 ok\r\n")


@pytest.fixture
def sink() -> Iterator[MailSink]:
    with MailSink() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()


@pytest.fixture
def site(tmp_path: Path, sink: MailSink) -> Site:
    made = make_site(
        tmp_path, alarm__mail_server=f"127.0.0.1:{sink.server_address[1]}",
        alarm__mail_from="oborona@example.test", console__url=URL, console__digest="daily",
        console__digest_hour="0", **MOVES,
    )  # fmt: skip
    secret.make(made.state)
    return made


def add(site: Site, name: str, *addresses: str, language: str = "", **more: Any) -> Person:
    with PeopleStore(site.state / state_files.PEOPLE) as store:
        person = new_person(
            name, roles=frozenset({more.get("role", Role.READER)}), domains=frozenset(),
            addresses=frozenset(addresses), language=language, made_by="test", now=1.0,
        )  # fmt: skip
        person = msgspec.structs.replace(person, state=more.get("state", PersonState.ACTIVE))
        return store.add(person)


def book(site: Site) -> DigestBook:
    return DigestBook(site.state / state_files.DIGESTS)


def links_of(mail: EmailMessage) -> list[str]:
    text = mail.get_body(("plain",))
    assert text is not None
    return re.findall(rf"{URL}/digest/(\S+)", text.get_content())


def followed(site: Site, link: str, call: str = "digest.follow") -> Any:
    calls = DigestLinks(site, CallRunner(site)).open_calls
    body = msgspec.json.encode({"link": link})
    return msgspec.json.decode(calls[call].run(body, "", "192.0.2.1", "a browser"))


def test_news_are_sent_once_and_a_link_takes_a_letter_out_of_junk(
    site: Site, sink: MailSink
) -> None:
    add(site, "joe", JOE)
    letter = entry_of(
        recipients=(JOE, DAN), subject="Invoice \u202e17", header_from="Shop <billing@shop.example>"
    )
    refused = entry_of(ago_s=500, recipients=(JOE,), verdict=Action.REJECT)
    fill(site, letter, refused, entry_of(ago_s=400, recipients=(DAN,), subject="of Dan alone"))
    postman = DigestPostman(site)
    assert postman.step() == 1
    assert postman.step() == 0  # one a day
    assert DigestPostman(site).step() == 0
    (mail,) = sink.taken
    assert sink.to == [f"<{JOE}>"]
    assert mail["To"] == JOE
    assert mail["Auto-Submitted"] == "auto-generated"
    assert "1 in Junk, 1 not taken in" in mail["Subject"]
    assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    text = mail.as_string()
    assert "of Dan alone" not in text
    assert DAN not in text
    plain = mail.get_body(("plain",))
    assert plain is not None
    assert "Invoice U+202E17" in plain.get_content()
    free, allow, stop = links_of(mail)
    looked = followed(site, free, "digest.look")
    assert looked["act"] == "free"
    assert not (site.state / state_files.EVENTS).exists()
    done = followed(site, free)
    assert done["copies"] == [{"address": JOE, "fate": "moves"}]
    assert [one[:3] for one in moves(site)] == [(JOE, "Junk", "INBOX")]
    followed(site, free)  # followed again: nothing is done twice
    assert len(moves(site)) == 1
    followed(site, allow)
    followed(site, allow)
    assert [one.value for one in kept(site).entries] == ["billing@shop.example"]
    followed(site, stop)
    with book(site) as opened:
        assert opened.of(1).hour == OFF
    with AuditStore(site.state / state_files.AUDIT) as log:
        rows = log.rows(
            "SELECT act, person, source FROM audit WHERE act LIKE 'own.%' AND person <> ''"
        )
    assert {row[0] for row in rows} == {"own.not_spam", "own.allow", "own.digest"}
    assert {tuple(row[1:]) for row in rows} == {("joe", "link of a digest")}


def test_what_is_forbidden_has_no_link_and_malware_no_subject(site: Site, sink: MailSink) -> None:
    add(site, "joe", JOE, language="ru")
    fill(site, entry_of(recipients=(JOE,), subject="HARMFUL", findings=(Finding("virus"),)))
    assert DigestPostman(site).step() == 1
    (mail,) = sink.taken
    assert "HARMFUL" not in mail.as_string()
    assert "в «Спаме» 1" in mail["Subject"]
    assert [link.split(".")[1] for link in links_of(mail)] == ["stop"]


def test_nobody_gets_mail_without_news_or_right_or_after_they_are_forgotten(
    site: Site, sink: MailSink
) -> None:
    add(site, "dan", DAN)
    add(site, "off", JOE, state=PersonState.OFF)
    add(site, "staff", JOE, role=Role.SUPPORT)
    add(site, "nowhere")
    never, gone = add(site, "never", JOE), add(site, "gone", JOE)
    with book(site) as opened:
        opened.choose(never.id, OFF)
        opened.choose(gone.id, 0)
    with PeopleStore(site.state / state_files.PEOPLE) as store:
        store.forget(gone)
    fill(site, entry_of(recipients=(JOE,)))
    assert DigestPostman(site).step() == 0
    assert sink.taken == []
    with book(site) as opened:
        assert gone.id not in opened.people()


def test_the_link_of_who_was_forgotten_or_another_s_letter_is_good_for_nothing(
    site: Site,
) -> None:
    joe, dan = add(site, "joe", JOE), add(site, "dan", DAN)
    letter = entry_of(recipients=(JOE,))
    fill(site, letter)
    until = int(time.time() + 1000)

    def link(person: Person, act: DigestAct = DigestAct.NOT_SPAM) -> str:
        made = DigestLink(person=person.id, act=act, message=to_text(letter.id), until=until)
        return sign_link(made, site.keys().digest)

    for act in (DigestAct.NOT_SPAM, DigestAct.ALLOW):
        with pytest.raises(CallError, match="no such letter"):
            followed(site, link(dan, act))
    for wrong in (link(joe)[:-1] + "!", link(joe).replace(f"{joe.id}.", f"{dan.id}.", 1), "x"):
        with pytest.raises(LinkOverError):
            followed(site, wrong)
    with PeopleStore(site.state / state_files.PEOPLE) as store:
        store.forget(joe)
    with pytest.raises(LinkOverError):
        followed(site, link(joe))
    assert not (site.state / state_files.EVENTS).exists()


def test_a_kill_sends_nothing_twice_and_the_next_one_says_so(site: Site, sink: MailSink) -> None:
    joe = add(site, "joe", JOE)
    fill(site, entry_of(recipients=(JOE,)))
    now = time.time()
    with book(site) as opened:  # killed after it was begun
        opened.begin(joe.id, time.strftime("%Y-%m-%d", time.localtime(now)), now - 9e4)
    postman = DigestPostman(site)
    assert postman.tell_left() == 1
    assert postman.step() == 0
    assert sink.taken == []
    later = DigestPostman(site, clock=lambda: now + 86_400)
    assert later.step() == 1
    plain = sink.taken[0].get_body(("plain",))
    assert plain is not None
    assert "may have reached you before" in plain.get_content()
    assert later.tell_left() == 0


def test_what_the_mail_server_refuses_comes_with_the_next(site: Site, sink: MailSink) -> None:
    joe = add(site, "joe", JOE)
    fill(site, entry_of(recipients=(JOE,)))
    sink.refuses = True
    now = time.time()
    assert DigestPostman(site).step() == 0
    with book(site) as opened:
        row = opened.of(joe.id)
    assert row.state is DigestState.BEGUN
    assert now - 86_500 < row.told < now - 86_300
    sink.refuses = False
    assert DigestPostman(site, clock=lambda: now + 86_400).step() == 1
    assert len(sink.taken) == 1
    with book(site) as opened:
        assert opened.of(joe.id).state is DigestState.SENT


def test_the_hour_that_somebody_chose_holds(site: Site, sink: MailSink) -> None:
    joe = add(site, "joe", JOE)
    fill(site, entry_of(recipients=(JOE,)))
    noon = time.mktime((*time.localtime()[:3], 12, 0, 0, 0, 0, -1))
    with book(site) as opened:
        opened.choose(joe.id, 13)
    assert DigestPostman(site, clock=lambda: noon).step() == 0
    with book(site) as opened:
        opened.choose(joe.id, 12)
        assert opened.begin(joe.id, "2026-01-02", 1.0) is not None
        assert opened.begin(joe.id, "2026-01-02", 1.0) is None
        assert opened.begin(joe.id, "2026-01-01", 1.0) is None  # the clock went back


def test_every_word_for_readers_is_translated_alike() -> None:
    words = {AGAIN, AT_THE_DOOR, NOT_ACCEPTED, OTHERWISE, *OF_GROUPS.values()}
    assert set(RUSSIAN.because) == words == set(BECAUSE)
    assert "own.digest" in CALLS
