"""Pages of the policy before the real desk: a draft from its beginning to its publication, and the
way back.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from oborona import state_files
from oborona.console.desk_client import DeskClient
from oborona.console.server import ConsoleServer
from oborona.desk.configured_site import SiteSource
from oborona.desk.followed_site import FollowedSite
from oborona.desk.process import desk_server
from oborona.people.link_book import LinkBook
from oborona.people.rights import Role
from oborona.people.store import PeopleStore, new_person
from tests.cli.journaled import LINKS, LOTTERY, LUNCH, WORDS, journal, policy
from tests.console.page_request import FROM_HERE, HttpAnswer

pytestmark = pytest.mark.asyncio
PASSWORD = "four words that nobody guesses"
OVERLAY = "90-console.toml"
MILDER = '[[rule]]\nname = "LINKS"\nscore = 30\n'
DRAFT = "/policy/draft/mine"


class DeskedConsole:
    """A console before the desk of a site.

    Args:
        folder: of the site: its policy stands in policy.d.
        server: of the console.
        http: a client.
        url: of the console.
    """

    def __init__(
        self, folder: Path, server: ConsoleServer, http: aiohttp.ClientSession, url: str
    ) -> None:
        self.folder = folder
        self.server = server
        self.url = url
        self._http = http
        self._token = ""

    async def sign_in(self, name: str, role: Role) -> None:
        """Be a person of this role."""
        with PeopleStore(self.folder / "state" / state_files.PEOPLE) as store:
            nothing = frozenset[str]()
            made = new_person(
                name, roles=frozenset({role}), domains=nothing, addresses=nothing, language="en",
                made_by="test", now=time.time(),
            )  # fmt: skip
            link = LinkBook(store).make(store.add(made), time.time())
        self._token = "guest"
        answer = await self.send(f"/link/{link}", password=PASSWORD, again=PASSWORD)
        assert answer.status == 303, answer.shown
        self._token = answer.cookies["__Host-oborona"].value

    async def open(self, path: str) -> HttpAnswer:
        """Open a page."""
        async with self._http.get(
            self.url + path, headers=self._cookies(), allow_redirects=False
        ) as response:
            return HttpAnswer(response, await response.text())

    async def send(self, path: str, /, *, piece: bool = False, **fields: str) -> HttpAnswer:
        """Send a form; `piece`: as a script does that puts a piece into a page."""
        fields["token"] = self.server.console.tokens.make(self._token)
        headers = FROM_HERE | self._cookies() | ({"HX-Request": "true"} if piece else {})
        async with self._http.post(
            self.url + path, data=fields, headers=headers, allow_redirects=False
        ) as response:
            return HttpAnswer(response, await response.text())

    def _cookies(self) -> dict[str, str]:
        name = "__Host-oborona-guest" if self._token == "guest" else "__Host-oborona"
        return {"Cookie": f"{name}={self._token}"}


@contextmanager
def listening(path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.setblocking(False)
        yield listener


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return the folder of a site whose journal has two messages."""
    policy(tmp_path / "policy.d", LINKS, WORDS)
    (tmp_path / "state").mkdir()
    (tmp_path / "oborona.toml").touch()
    journal(tmp_path / "state", tmp_path / "policy.d", [LUNCH, LOTTERY])
    return tmp_path


@pytest_asyncio.fixture
async def desked(site: Path) -> AsyncIterator[DeskedConsole]:
    settings = {
        "paths.state": str(site / "state"),
        "paths.policy": str(site / "policy.d"),
        "paths.shipped_policy": "none",
        "paths.event_logs": str(site / "eventlog.d"),
    }
    source = SiteSource(site / "oborona.toml", settings)
    desk = desk_server(FollowedSite(source, lambda _: None))
    client = DeskClient(site / "desk.sock")
    server = ConsoleServer(client)
    with listening(site / "desk.sock") as door, socket.create_server(("127.0.0.1", 0)) as port:
        await desk.start(door)
        await server.start(port)
        async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http:
            yield DeskedConsole(site, server, http, f"http://127.0.0.1:{port.getsockname()[1]}")
        await server.drain(0.1)
        await client.close()
        await desk.drain(2)


async def test_a_draft_is_tried_published_live_and_rolled_back(desked: DeskedConsole) -> None:
    await desked.sign_in("anna", Role.ADMIN)
    rules = await desked.open("/policy")
    assert "it is a lottery" in rules.shown, rules.shown
    assert "Hits among 2 messages" in rules.shown
    assert "[31m won spam 110" in (await desked.open("/policy/rule/WORDS")).shown
    begun = await desked.send("/policy/drafts", name="mine", about="fewer links")
    assert (begun.status, begun.headers["Location"]) == (303, DRAFT), begun.shown
    assert OVERLAY in (await desked.open(DRAFT)).shown

    wrong = await desked.send(
        f"{DRAFT}/check", piece=True, file=OVERLAY, text=MILDER.replace("30", '"thirty"')
    )
    assert "does not take it: 1 problem." in wrong.shown
    assert "line 3" in wrong.shown
    assert 'data-line="3"' in wrong.text
    assert "<html" not in wrong.text
    text = MILDER.replace("\n", "\r\n")
    right = await desked.send(f"{DRAFT}/check", piece=True, file=OVERLAY, text=text)
    assert "The loader takes it." in right.shown
    saved = await desked.send(DRAFT, file=OVERLAY, text=text, before="", step="save")
    assert saved.status == 303, saved.shown
    assert (desked.folder / "state/drafts/mine/files" / OVERLAY).read_text() == MILDER

    untried = await desked.send(f"{DRAFT}/publish", to="live", step="do", reason="x")
    assert (untried.status, "was not tried" in untried.shown) == (422, True)
    assert "No rule has a test." in (await desked.open(f"{DRAFT}/test")).shown
    assert "2 messages were judged again" in (await desked.open(f"{DRAFT}/preview")).shown
    assert "score 60 → 30" in (await desked.open(f"{DRAFT}/diff")).shown
    ready = (await desked.open(f"{DRAFT}/publish")).shown
    assert "no " not in ready[ready.index("Before it is") : ready.index("Where to")].replace(
        "yes nobody", ""
    ), ready
    planned = await desked.send(f"{DRAFT}/publish", to="live")
    assert planned.status == 200, planned.shown
    assert "score 60 → 30" in planned.shown
    assert not (desked.folder / "policy.d" / OVERLAY).exists()
    unsaid = await desked.send(f"{DRAFT}/publish", to="live", step="do", reason=" ")
    assert (unsaid.status, "say why" in unsaid.shown) == (422, True)
    done = await desked.send(f"{DRAFT}/publish", to="live", step="do", reason="it lost invoices")
    assert "It is version 2." in done.shown
    assert (desked.folder / "policy.d" / OVERLAY).read_text() == MILDER

    history = await desked.open("/policy/history")
    assert "it lost invoices" in history.shown
    csv = await desked.open("/policy/history?as=csv")
    assert csv.text.splitlines()[1].startswith("2,")
    assert "score 60 → 30" in (await desked.open("/policy/difference?before=1&after=2")).shown
    assert "score 30 → 60" in (await desked.send("/policy/roll-back", version="1")).shown
    back = await desked.send("/policy/roll-back", version="1", step="do", reason="was right")
    assert "It is version 3." in back.shown
    assert not (desked.folder / "policy.d" / OVERLAY).exists()


async def test_what_others_write_meanwhile_is_shown_and_nothing_is_lost(
    desked: DeskedConsole,
) -> None:
    await desked.sign_in("anna", Role.ADMIN)
    await desked.send("/policy/drafts", name="mine")
    # both saw that the file was not there
    await desked.send(DRAFT, file=OVERLAY, text="# first\n", before="", step="save")
    late = await desked.send(DRAFT, file=OVERLAY, text="# late\n", before="", step="save")
    assert late.status == 409
    assert "# late" in late.shown
    assert "# first" in late.shown
    seen = re.search(r'name="before" value="(\w+)"', late.text)
    assert seen is not None
    again = await desked.send(DRAFT, file=OVERLAY, text="# both\n", before=seen[1], step="save")
    assert again.status == 303
    stale = await desked.send(DRAFT, file=OVERLAY, text="# x\n", before=seen[1], step="save")
    assert (stale.status, "# both" in stale.shown) == (409, True)

    (desked.folder / "policy.d" / OVERLAY).write_text("# by hand\n")
    assert "The policy was changed since" in (await desked.open(DRAFT)).shown
    conflict = await desked.send(f"{DRAFT}/rebase")
    assert "-# by hand" not in conflict.shown
    assert "+# by hand" in conflict.shown
    assert "+# both" in conflict.shown
    choice = {f"keep-{OVERLAY}": "mine"}
    taken = await desked.send(f"{DRAFT}/rebase", piece=False, **choice)
    assert "It begins from version 2 now" in taken.shown
    assert "# both" in (await desked.open(DRAFT)).shown


async def test_forms_change_a_draft_and_a_trial_changes_no_verdict(desked: DeskedConsole) -> None:
    await desked.sign_in("dora", Role.DUTY)
    await desked.send("/policy/drafts", name="mine")
    change = f"{DRAFT}/change"
    set_score = await desked.send(change, form="score", rule="LINKS", score="45,5")
    assert set_score.headers["Location"] == f"{DRAFT}?file={OVERLAY}&saved=1"
    message = re.search(r"lottery", (await desked.open("/policy/rule/WORDS")).text)
    assert message is not None
    none = await desked.send(change, form="entry", list="NONE", entry="192.0.2.1")
    assert none.status == 422
    wrong = await desked.send(change, form="test", rule="LINKS", message="no id")
    assert "'no id' is no id of a message" in wrong.shown
    await desked.open(f"{DRAFT}/preview")
    live = await desked.send(f"{DRAFT}/publish", to="live", step="do", reason="x")
    assert live.status == 403
    done = await desked.send(f"{DRAFT}/publish", to="shadow", step="do", reason="to see")
    assert "On trial: LINKS_TRIAL" in done.shown
    assert (
        'name="LINKS_TRIAL"'.replace("=", " = ")
        in (desked.folder / "policy.d" / OVERLAY).read_text()
    )


async def test_files_that_may_not_be_written_are_shown_to_be_read(desked: DeskedConsole) -> None:
    await desked.sign_in("anna", Role.ADMIN)
    await desked.send("/policy/drafts", name="mine")
    shown = await desked.open(f"{DRAFT}?file=10.toml")
    assert "to read alone" in shown.shown
    assert "readonly" in shown.text
    refused = await desked.send(DRAFT, file="10.toml", text="x = 1\n", before="", step="save")
    assert refused.status == 409  # it is there, and was not seen
    gone = await desked.send(f"{DRAFT}/drop", step="do", reason="")
    assert gone.status == 200, gone.shown
    assert (await desked.open(DRAFT)).status == 404
