"""`oborona alarm test`, and what its settings may be."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from oborona.cli import main


class Hook(HTTPServer):
    """Takes what is posted."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.bodies: list[dict[str, Any]] = []
        self.status = 204


class Handler(BaseHTTPRequestHandler):
    server: Hook

    def do_POST(self) -> None:
        self.server.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        pass


@pytest.fixture
def hook() -> Iterator[Hook]:
    with Hook() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def run(folder: Path, *settings: str) -> Result:
    words = [word for one in settings for word in ("--set", one)]
    return CliRunner().invoke(
        main, ["--state", str(folder), *words, "alarm", "test"], catch_exceptions=False
    )


def test_an_alert_is_sent_and_what_is_answered_is_told(tmp_path: Path, hook: Hook) -> None:
    url = f"http://127.0.0.1:{hook.server_address[1]}/x"
    done = run(tmp_path, f"alarm.webhook={url}", "site.name=mx.test")
    assert (done.exit_code, done.stdout) == (0, f"webhook: {url}: taken\n")
    assert (hook.bodies[0]["kind"], hook.bodies[0]["site"]) == ("test", "mx.test")
    hook.status = 403
    refused = run(tmp_path, f"alarm.webhook={url}")
    assert (refused.exit_code, refused.stdout) == (1, f"webhook: {url}: answered 403\n")


def test_nobody_may_be_told(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.exit_code == 1
    assert "set alarm.webhook or alarm.mail_to" in done.stdout


def test_a_mail_server_that_is_away_is_told(tmp_path: Path) -> None:
    done = run(tmp_path, "alarm.mail_to=ann@b.example", "alarm.mail_server=127.0.0.1:1")
    assert done.exit_code == 1
    assert done.stdout.startswith("mail: ann@b.example: ConnectionRefusedError")


@pytest.mark.parametrize(
    "setting",
    [
        "alarm.webhook=ftp://x.example/",
        "alarm.webhook=http://x.example/ a",
        "alarm.mail_to=ann",
        "alarm.mail_to=ann@b.example, bob@b.example",
        "alarm.mail_to=ann@b.example>\r\nRCPT",
        "alarm.mail_from=ann@b@c",
        "alarm.mail_server=mail.example",
        "alarm.mail_server=unix:/x",
        "alarm.webhook_key_file=key",
        "alarm.attempts=0",
        "alarm.wave_times=1",
        "intake.report_spam=spam",
        "intake.report_spam=a@b.example,c@d.example",
        "intake.mail_listen=25",
    ],
)
def test_what_can_be_no_setting_is_refused(tmp_path: Path, setting: str) -> None:
    done = run(tmp_path, setting)
    assert done.exit_code == 78, done.output
    assert setting.partition("=")[0].partition(".")[2] in done.output


def test_a_key_that_can_t_be_read_is_told(tmp_path: Path) -> None:
    done = run(
        tmp_path, "alarm.webhook=http://127.0.0.1:1/", f"alarm.webhook_key_file={tmp_path}/none"
    )
    assert done.exit_code == 78
    assert "alarm.webhook_key_file" in done.output
