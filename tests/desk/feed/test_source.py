"""A feed behind https, and servers that are broken, hostile or not who they say they are."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from oborona.desk.call import CallError
from oborona.desk.feed.source import FeedSource
from oborona.errors import OboronaError, PeerError
from tests.cli.journaled import run
from tests.desk.feed.fed import NEW, FedSite
from tests.peers.certificate import write_certificate


class _Server(SimpleHTTPRequestHandler):
    """Gives files out, but for names that ask for trouble."""

    def do_GET(self) -> None:
        match self.path.rpartition("/")[2]:
            case "moved":
                self._say(302, Location="http://127.0.0.1/elsewhere")
            case "packed":
                self._say(200, **{"Content-Encoding": "gzip", "Content-Length": "9"})
            case "endless":
                self._say(200)
                for _ in range(100):
                    self.wfile.write(b"x" * (1 << 16))
            case "cut":
                self._say(200, **{"Content-Length": "1000"})
                self.wfile.write(b"x")
            case "noise":
                self.wfile.write(b"\0" * 100 + b"\n")
            case _:
                super().do_GET()

    def _say(self, status: int, **headers: str) -> None:
        self.close_connection = True
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *words: object) -> None:  # noqa: A002 - the library's name
        pass


class _QuietServer(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that have heard enough."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path, Path]]:
    """The address of a server, the folder that it gives out, its certificate."""
    folder = tmp_path_factory.mktemp("served")
    certificate = write_certificate(folder / "certificate.pem")
    (folder / "given").mkdir()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with _QuietServer(
        ("127.0.0.1", 0), partial(_Server, directory=str(folder / "given"))
    ) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"https://localhost:{server.server_port}", folder / "given", certificate
        server.shutdown()
        thread.join()


def test_a_feed_is_fetched_by_https_and_the_command_says_what_came(
    served: tuple[str, Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, given, certificate = served
    fed = FedSite(tmp_path)
    fed.feed.symlink_to(given)
    fed.offer({"20.toml": NEW}, version=4, notes="new")
    fed.site = fed.sited(url=f"{url}/")
    with pytest.raises(PeerError, match="CERTIFICATE_VERIFY_FAILED"):
        fed.update()
    assert fed.held() == {}
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    overrides = dict(fed.site.source.overrides)
    state, own = Path(overrides.pop("paths.state")), Path(overrides.pop("paths.policy"))
    asked = [word for name, value in overrides.items() for word in ("--set", f"{name}={value}")]
    told = run(state, own, *asked, "policy", "update", "--dry-run").stdout
    assert "rule NEW: added\n--- a/20.toml\n+++ b/20.toml\n" in told
    assert "nothing was done" in told
    told = run(state, own, *asked, "policy", "update").stdout
    assert told.endswith("version 4 of the feed judges (new)\n")
    assert "oborona policy update --back 1 takes it back" in told
    shown = run(state, own, *asked, "policy", "feed").stdout
    assert "in force: 20.toml\nnewest version seen: 4\n* " in shown
    run(state, own, *asked, "policy", "update", "--back", "1", status=2)  # without a reason
    told = run(state, own, *asked, "policy", "update", "--back", "1", "--reason", "bad").stdout
    assert "rule NEW: removed" in told
    assert fed.held() == {}
    rows = run(state, own, "audit", "--json").stdout
    assert '"feed.update"' in rows
    assert '"feed.roll_back"' in rows


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("none", "the server answers 404"),
        ("moved", "answers 302; it is not followed to 'http://127.0.0.1/elsewhere'"),
        ("packed", "packs what nobody asked"),
        ("endless", "larger than 1,000 octets"),
        ("cut", "the server broke off, 999 octets missing"),
        ("noise", "noise: "),
    ],
)
def test_servers_that_answer_something_else(
    served: tuple[str, Path, Path], name: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(served[2]))
    with pytest.raises(OboronaError, match=why):
        FeedSource(served[0], 30).fetch(name, 1000)


def test_a_server_that_takes_all_day_is_not_waited_for(
    served: tuple[str, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(served[2]))
    (served[1] / "x").write_bytes(b"x")
    with pytest.raises(PeerError, match="not all of the feed came in 0 s"):
        FeedSource(served[0], 0).fetch("x", 1000)
    with pytest.raises(CallError, match="larger than 0 octets"):
        FeedSource(f"file://{served[1]}", 9).fetch("x", 0)


def test_keys_and_feeds_are_made_by_commands(tmp_path: Path) -> None:
    state, own = tmp_path / "state", tmp_path / "own"
    state.mkdir()
    own.mkdir()
    key, made = tmp_path / "key", tmp_path / "made"
    public = run(state, own, "policy", "feed-key", str(key)).stdout.strip()
    assert key.stat().st_mode & 0o777 == 0o600
    assert "not written over" in run(state, own, "policy", "feed-key", str(key), status=65).output
    order = (
        "policy",
        "feed-make",
        str(tmp_path / "feed"),
        "--key",
        str(key),
        "--policy",
        str(made),
    )
    made.mkdir()
    assert "holds no policy file" in run(state, own, *order, status=65).output
    (made / "20.toml").write_text("[[rule]]\n")
    run(state, own, *order, status=78)
    (made / "20.toml").write_text(NEW)
    assert f"feed.key: {public}\n" in run(state, own, *order, "--version", "3").stdout
    told = run(state, own, *order, "--version", "3", status=65).output
    assert "the feed is at version 3" in told
    assert "version 2" in run(state, own, *order).stdout, "by the year"
