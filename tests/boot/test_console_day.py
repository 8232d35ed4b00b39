"""The console on a machine under the units that ship, by its page: turned on, the first admin
signed in, a refused message found and explained; then with a unit for each process.
"""

from __future__ import annotations

import re
from typing import Final

import pytest

from tests.boot.machine import Machine
from tests.boot.mail import is_filtered, send
from tests.boot.steps import eventually, follow, needs_machine
from tests.letters import GTUBE

PAGE: Final = "operate/console.md"
PASSWORD: Final = "four words that nobody guesses"
EXPOSURES: Final = {"oborona-desk": 1.5, "oborona-console": 1.0}
_BROWSER: Final = """\
import http.client, re, sys, urllib.parse
kept = {}
def ask(method, path, fields=None):
    connection = http.client.HTTPConnection("127.0.0.1", 8891, timeout=60)
    headers = {"Cookie": "; ".join("=".join(one) for one in kept.items()), "Sec-Fetch-Site": "same-origin"}
    body = None if fields is None else urllib.parse.urlencode(fields)
    if body is not None:
        headers["Content-Type"] = "application/x-www-form-urlencoded"
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    page = answer.read().decode()
    for name, value in answer.getheaders():
        if name.lower() == "set-cookie":
            key, _, rest = value.partition("=")
            kept[key] = rest.partition(";")[0]
    return answer.status, page
def form(path, **fields):
    page = ask("GET", path)[1]
    fields["token"] = re.search(r'name="token" value="([^"]+)"', page)[1]
    return ask("POST", path, fields)[0]
def told(status, page):
    return status, " ".join(re.sub(r"<[^>]*>", " ", page).split())
begin, password, *pages = sys.argv[1:]
if begin == "/senders":  # by nobody who signed in: a reference, and an address
    page = ask("GET", begin)[1]
    print(page.count("<form"))
    token = re.search(r'name="token" value="([^"]+)"', page)
    fields = {"reference": password, "address": pages[0]} | ({"token": token[1]} if token else {})
    print(*told(*ask("POST", begin, fields)))
    sys.exit()
elif begin == "/sign-in":
    print(form(begin, name="anna", password=password))
else:
    print(form(begin, password=password, again=password))
for path in pages:
    status, page = ask("GET", path)
    print(path, *told(status, page))
"""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800), needs_machine]


def browse(machine: Machine, begin: str, *pages: str) -> list[str]:
    """Sign in where a path says, and open pages; return what each says, behind its status."""
    words = " ".join(f"'{word}'" for word in (begin, PASSWORD, *pages))
    signed, *said = machine.run(f"python3 - {words} <<'END'\n{_BROWSER}END").splitlines()
    assert signed == "303"
    return said


def asked_as_sender(machine: Machine, reference: str, address: str) -> str:
    """Ask why a message was refused, as whoever sent it; return what the page says."""
    words = f"/senders {reference} {address}"
    return machine.run(f"python3 - {words} <<'END'\n{_BROWSER}END").splitlines()[1]


def finds(machine: Machine, begin: str, subject: str) -> None:
    """Mail is filtered; who signs in finds what was refused, and why."""
    reference = is_filtered(machine, subject)
    eventually(machine, f"oborona find {reference}")
    track, message, health = browse(
        machine, begin, f"/track?q={subject}", f"/message/{reference}", "/health"
    )
    assert re.match(rf"/track\S* 200 .*{subject}", track), track
    assert re.match(rf"/message/{reference} 200 .*GTUBE", message), message
    assert health.startswith("/health 200 "), health


def test_its_page_is_followed(machine: Machine) -> None:
    machine.run("apt-get -qq update; apt-get -qq install -y --no-install-recommends curl")
    link = re.search(r"/link/[\w-]+", follow(machine, "Turn it on", PAGE))
    assert link
    eventually(machine, "curl -sf http://127.0.0.1:8891/sign-in")
    finds(machine, link[0], "console-one")
    assert "anna people.add" not in machine.run("oborona audit"), "it was root who added her"
    assert "people.add anna" in machine.run("oborona audit")

    # a sender asks by what he was told
    follow(machine, "Turn it on", "operate/senders.md")
    eventually(machine, "curl -sf http://127.0.0.1:8891/senders")
    refusal = send(machine, "console-sender", GTUBE)
    named = re.fullmatch(
        r"(?s)550 5\.7\.1 .*reference (\w+); https://mx.example.org/senders", refusal
    )
    assert named, refusal
    eventually(machine, f"oborona find {named[1]}")
    said = asked_as_sender(machine, named[1], "bob@partner.example")
    assert said.startswith("200 "), said
    assert "content" in said.lower(), said
    stranger = asked_as_sender(machine, named[1], "eve@other.example")
    assert "content of the message" not in stranger, "his domain is not in the envelope"

    follow(machine, "One unit for each process")
    follow(machine, "With one process per unit", PAGE)
    for unit, most in EXPOSURES.items():
        assert machine.run(f"systemctl is-active {unit}.service").strip() == "active", unit
        found = re.search(
            r"level for .*: ([0-9.]+)",
            machine.run(f"systemd-analyze security --no-pager {unit}.service"),
        )
        assert found
        assert float(found[1]) <= most, unit
    eventually(machine, "curl -sf http://127.0.0.1:8891/sign-in")
    finds(machine, "/sign-in", "console-two")
    pid = machine.run("systemctl show --value -p MainPID oborona-console").strip()
    assert machine.run(f"ps -o user:20= -p {pid}").strip() == "oborona-console"
    inside = f"nsenter -t {pid} -m setpriv --reuid oborona-console --regid oborona --clear-groups"
    assert "Permission denied" in machine.ask(f"{inside} ls /var/lib/oborona 2>&1")

    # without the desk pages say so, and mail goes on
    machine.run("systemctl stop oborona-desk.service")
    assert "503" in machine.ask("curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8891/sign-in"
                                " -X POST -H 'Sec-Fetch-Site: same-origin' -d name=anna; "
                                "curl -s -o /dev/null -w '%{http_code}' -H 'Cookie: __Host-oborona=x'"
                                " http://127.0.0.1:8891/track")  # fmt: skip
    is_filtered(machine, "console-three")
