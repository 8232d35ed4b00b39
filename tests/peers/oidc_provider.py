"""A real OpenID provider on a free port: npm's oidc-provider, a certified one.

with OidcProvider("http://127.0.0.1:8891/sign-in/provider/back") as provider:
    answer = await provider.signed_in(url, "anna+staff")   # where it sends the browser back to
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Final, Self
from urllib.parse import urljoin

import aiohttp

from tests.peers.ports import free_port

SCRIPT: Final = Path(__file__).parents[1] / "console/oidc_provider.mjs"
CLIENT: Final = "oborona"
SECRET: Final = "a secret of ours"


class OidcProvider:
    """One that runs.

    Args:
        redirects: where it may send browsers.
    """

    def __init__(self, *redirects: str) -> None:
        self.port = free_port()
        self.issuer = f"http://127.0.0.1:{self.port}"
        self._redirects = redirects

    def __enter__(self) -> Self:
        """Start it."""
        self._process = subprocess.Popen(
            ["node", str(SCRIPT), str(self.port), *self._redirects],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("ready"):
                return self
        raise RuntimeError("the provider did not come up")

    def __exit__(self, *_exc: object) -> None:
        """Stop it."""
        self._process.kill()
        self._process.wait(20)
        assert self._process.stdout is not None
        self._process.stdout.close()

    async def signed_in(self, url: str, login: str) -> str:
        """Sign somebody in as a browser does; return the address to which it is sent back."""
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(cookie_jar=jar) as browser:
            for _ in range(12):
                async with browser.get(url, allow_redirects=False) as answer:
                    page, where = await answer.text(), answer.headers.get("Location", "")
                while where:
                    url = urljoin(url, where)
                    if url.startswith(self._redirects):
                        return url
                    async with browser.get(url, allow_redirects=False) as answer:
                        page, where = await answer.text(), answer.headers.get("Location", "")
                found = re.search(r'action="([^"]+)"', page)
                prompt = re.search(r'name="prompt" value="([^"]+)"', page)
                assert found, page
                assert prompt, page
                form = {"prompt": prompt[1], "login": login, "password": "anything"}
                async with browser.post(found[1], data=form, allow_redirects=False) as answer:
                    url = urljoin(found[1], answer.headers["Location"])
        raise AssertionError("the provider goes on asking")
