"""A real Prometheus (Debian's) that reads what a test gives it, and is asked as Grafana asks."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.peers.daemon import Daemon
from tests.peers.ports import free_port


class Prometheus(Daemon):
    """One Prometheus.

    Args:
        settings: of prometheus.yml.
        rules: files of rules, which it names; they are put beside it.
    """

    def __init__(self, settings: Mapping[str, Any], rules: tuple[Path, ...] = ()) -> None:
        super().__init__("prometheus")
        self.url = f"http://127.0.0.1:{free_port()}"
        (self.root / "prometheus.yml").write_text(json.dumps(settings))  # JSON is YAML
        for file in rules:
            (self.root / file.name).write_bytes(file.read_bytes())

    def command(self) -> list[str]:
        """Return its command line."""
        return [
            "prometheus",
            f"--config.file={self.root}/prometheus.yml",
            f"--storage.tsdb.path={self.root}/data",
            f"--web.listen-address={self.url.removeprefix('http://')}",
        ]

    def answers(self) -> bool:
        """Tell whether it is ready."""
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except urllib.error.HTTPError:
            return False

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Return the series of an expression as they are now.

        Raises:
            RuntimeError: it is no expression, or can't be computed.
        """
        found = self.get("query", query=expression)["result"]
        assert isinstance(found, list)
        return found

    def get(self, path: str, **words: str) -> dict[str, Any]:
        """Return the data of an answer of its interface.

        Raises:
            RuntimeError: it says no.
        """
        try:
            with urllib.request.urlopen(
                f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(words)}", timeout=30
            ) as answer:
                data = json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{words}: {error.read().decode()}") from error
        assert isinstance(data, dict)
        return data
