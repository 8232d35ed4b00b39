"""What doctor says of the provider by which people sign in."""

import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from oborona.cli.context import CliContext
from oborona.desk.doctor.report import CheckState
from oborona.desk.doctor.sign_in import sign_in


def looked(tmp_path: Path, **settings: str) -> list[tuple[CheckState, str]]:
    told = tuple(f"console.{key}={value}" for key, value in settings.items())
    context = CliContext(None, tmp_path, told)
    return [(report.state, report.words) for report in sign_in(context)]


def test_nobody_is_asked_where_there_is_no_provider(tmp_path: Path) -> None:
    assert looked(tmp_path, enabled="true") == []
    assert looked(tmp_path, oidc_issuer="https://sso.example") == []


def test_a_provider_that_is_away_or_says_nonsense_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    found = looked(tmp_path, enabled="true", oidc_issuer=f"http://127.0.0.1:{port}")
    assert [state for state, _ in found] == [CheckState.WARN]
    answers = [b"{}", b"[1]", b"\xff" * 100, b"{" * 100_000, b"x" * (2 << 20)]

    class Nonsense(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(answers.pop())

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Nonsense) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        issuer = f"http://127.0.0.1:{server.server_port}"
        while answers:
            ((state, told),) = looked(tmp_path, enabled="true", oidc_issuer=issuer)
            assert state is CheckState.WARN
            assert "can't be asked" in told
        server.shutdown()
        thread.join()
