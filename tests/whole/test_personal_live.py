"""What a person says of their own mail, while two workers judge it behind a real Postfix: at once,
for them alone, and nothing for a forged name.
"""

from __future__ import annotations

import email
import email.policy
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oborona import state_files
from oborona.reputation.personal import EntryAction, PersonalEntryKind, entry
from oborona.stores.persons.store import PersonStore
from tests.peers.dns import Zones
from tests.whole.gate import Gate, eventually
from tests.whole.signed import publish

HERS, ELSEWHERE = "9.1.0.7", "9.9.0.1"
ANN, BOB, NOBODY = "ann@a.example", "bob@example.test", "nobody@example.test"
JOE, KIM, LEE, MAX, NED, PAT = (
    f"{name}@example.test" for name in ("joe", "kim", "lee", "max", "ned", "pat")
)
POINTS = """[repip]
bad = "none"

[karma]
best = 0
worst = 0

[[rule]]
name = "POINTS"
when = "contains(subject, 'points')"
score = 110
say = "points"
"""
SLACK_S = 20.0  # a busy machine; docs/people/personal.md has what it takes
SENT = 4  # messages, each by a connection of its own: both workers get some


class Site:
    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        self._number = 0

    def send(
        self,
        *to: str,
        ip: str = HERS,
        author: str = ANN,
        subject: str = "lunch",
        text: str = "At noon?",
        sender: str = "",
    ) -> tuple[dict[str, Any], str]:
        """Send a message; return what the log says of it, and the last reply."""
        self._number += 1
        raw = (
            f"From: Ann <{author}>\r\nTo: <{to[0]}>\r\nSubject: {subject}\r\nDate: Fri, 20 Nov "
            f"2026 10:00:00 +0000\r\n"
            f"Message-ID: <{self._number}@a.example>\r\n\r\n{text}\r\n"
        )
        before = len(self._verdicts())
        reply = self.gate.send(
            ip, raw.encode(), sender=sender or author, recipients=to, name="mail.a.example"
        )[-1]
        assert reply.startswith("250"), reply
        eventually(lambda: len(self._verdicts()) > before)
        return self._verdicts()[before], reply

    def decided(self, *to: str, **more: str) -> tuple[str, str]:
        """Send a message; return its verdict and who decided."""
        found, _reply = self.send(*to, **more)
        return found["verdict"], found["decided_by"]

    def run(self, *words: str) -> str:
        done = self.gate.oborona.run(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def store(self) -> PersonStore:
        return PersonStore(self.gate.oborona.state / state_files.PERSONS)

    def put(self, person: str, side: EntryAction) -> None:
        """Write down what a person says of Ann, as the command would, whose start takes a
        second.
        """
        with self.store() as store:
            store.put(
                person,
                [entry(side, PersonalEntryKind.ADDRESS, ANN, time=time.time())],
                now=time.time(),
            )

    def kept(self, person: str) -> list[tuple[str, str, str]]:
        with self.store() as store:
            return [
                (one.side.value, one.kind.value, one.source.value)
                for one in store.of(person).entries
            ]

    def everywhere(self, wanted: tuple[str, str], *to: str, **more: str) -> None:
        """Wait until all workers judge so."""
        eventually(
            lambda: all(self.decided(*to, **more) == wanted for _ in range(SENT)),
            SLACK_S,
            every_s=0.2,
        )

    def _verdicts(self) -> list[dict[str, Any]]:
        return [one for one in self.gate.events("verdict") if one["stage"] == "content"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    policy = tmp_path_factory.mktemp(
        "policy"
    )  # with nothing that remembers: what is sent again and again stays what it was
    (policy / "10-points.toml").write_text(POINTS)
    with Zones() as zones:
        for domain in ("a.example", "example.test"):
            publish(zones, domain, policy="none")
        with Gate(zones.setting, settings={"worker.processes": 2, "paths.policy": policy}) as gate:
            yield Site(gate)


def test_a_denied_sender_goes_to_the_spam_folder_of_who_denies_them_alone(site: Site) -> None:
    assert site.decided(JOE) == ("accept", "below-threshold")
    site.run("personal", "deny", JOE, ANN)
    site.everywhere(("spam", "PERSONAL"), JOE)
    assert site.decided(NOBODY) == ("accept", "below-threshold")
    assert site.decided(JOE, NOBODY) == ("accept", "below-threshold"), "the mildest for all"
    assert site.decided(JOE, ip=ELSEWHERE) == ("spam", "PERSONAL"), "whoever claims to be her"
    _found, reply = site.send(JOE)
    head = email.message_from_bytes(site.gate.held(reply), policy=email.policy.default)
    assert head["X-Mras"] == "Probable"
    assert head["X-Spam-Flag"] == "YES"
    assert f"PERSONAL=0.0(their list: deny address {ANN})" in " ".join(
        str(head["X-Mras-Reason"]).split()
    )


def test_a_forged_from_of_somebody_allowed_gains_nothing(site: Site) -> None:
    assert site.decided(KIM, subject="points") == ("spam", "POINTS")
    site.put(KIM, EntryAction.ALLOW)
    site.everywhere(("accept", "PERSONAL"), KIM, subject="points")
    assert site.decided(KIM, subject="points", ip=ELSEWHERE)[0] == "spam"
    assert site.decided(KIM, subject="points", ip=ELSEWHERE, sender="eve@e.example")[0] == "spam"
    assert site.decided(KIM, NOBODY, subject="points") == ("accept", "PERSONAL"), (
        "the mildest for all"
    )


def test_who_was_written_to_is_known_when_they_answer(site: Site) -> None:
    assert site.decided(LEE, author=BOB, subject="points") == ("spam", "POINTS")
    letter = (
        f"From: <{LEE}>\r\nTo: <{BOB}>\r\nSubject: lunch\r\nDate: Fri, 20 Nov 2026 10:00:00 "
        f"+0000\r\n"
        "Message-ID: <out@example.test>\r\n\r\nAt noon?\r\n"
    )
    reply = site.gate.send(
        "10.0.0.5", letter.encode(), sender=LEE, recipients=[BOB], login=LEE, submission=True
    )[-1]
    assert reply.startswith("250"), reply
    site.everywhere(("accept", "PERSONAL"), LEE, author=BOB, subject="points")
    assert site.decided(LEE, author=BOB, subject="points", ip=ELSEWHERE)[0] == "spam"
    assert site.decided(NOBODY, author=BOB, subject="points") == ("spam", "POINTS")
    assert site.kept(LEE) == [("contact", "address", "written")]


def test_an_address_book_speaks_for_whom_it_names(site: Site, tmp_path: Path) -> None:
    book = tmp_path / "contacts.vcf"
    book.write_text(f"BEGIN:VCARD\nVERSION:3.0\nFN:Ann\nEMAIL:{ANN}\nEND:VCARD\n")
    site.run("personal", "import", MAX, str(book))
    site.everywhere(("accept", "PERSONAL"), MAX, subject="points")
    assert site.decided(MAX, subject="points", ip=ELSEWHERE)[0] == "spam"


TEXT = (
    "Our offer of the week brings garden furniture, parasols, cushions, hammocks and barbecue "
    "equipment to every customer within forty miles,"
    " delivered free of charge on Saturday morning by friendly drivers who carry everything "
    "upstairs without asking for any extra money whatsoever."
)


def test_a_persons_word_acts_at_once_and_is_taken_back_whole(site: Site, tmp_path: Path) -> None:
    _found, reply = site.send(NED, text=TEXT)
    message = tmp_path / "held.eml"
    message.write_bytes(site.gate.held(reply))
    said = json.loads(
        site.run("learn", "spam", "--person", NED, "--json", str(message)).splitlines()[0]
    )
    assert site.kept(NED) == [("deny", "address", "word"), ("deny", "text", "word")]
    site.everywhere(("spam", "PERSONAL"), NED)
    nearly = TEXT.replace("Saturday", "Monday").replace("forty", "thirty")
    assert site.decided(NED, author="shop@s.example", text=nearly, ip=ELSEWHERE) == (
        "spam",
        "PERSONAL",
    )
    assert site.decided(NOBODY, text=TEXT)[0] == "accept", "it is Ned's word, and Ned's alone"
    site.run("model", "unlearn", str(said["id"]))
    assert site.kept(NED) == []
    site.everywhere(("accept", "below-threshold"), NED)


def test_a_complaint_of_a_forgery_does_not_hurt_whose_name_it_bore(
    site: Site, tmp_path: Path
) -> None:
    _found, reply = site.send(PAT, ip=ELSEWHERE)
    message = tmp_path / "forged.eml"
    message.write_bytes(site.gate.held(reply))
    site.run("learn", "spam", "--person", PAT, str(message))
    site.everywhere(("spam", "PERSONAL"), PAT, ip=ELSEWHERE)
    assert site.decided(PAT) == ("accept", "below-threshold")
