"""Organisational domains: the tests of the Public Suffix List itself (public domain,
`vectors/public_suffix.txt`).

Where the list says that a name has no registrable domain, `registrable` returns the name itself:
mail from a bare suffix is its own organisation. Names that are none (null, a leading dot) never get
that far: `fqdn` gives nothing for them.
"""

import re
from pathlib import Path

import pytest

from oborona.authentication.names import fqdn
from oborona.domains import registrable

CHECK = re.compile(r"^checkPublicSuffix\((?:null|'([^']*)'), (?:null|'([^']*)')\);$", re.MULTILINE)
CASES = CHECK.findall((Path(__file__).parent / "vectors/public_suffix.txt").read_text())


def test_the_suite_is_whole() -> None:
    assert len(CASES) == 78


@pytest.mark.parametrize(("host", "want"), CASES, ids=[case[0] or "null" for case in CASES])
def test_of_the_list(host: str, want: str) -> None:
    # a bare top-level domain is no mail domain
    name = fqdn(host) if "." in host.strip(".") else host.lower()
    if host.startswith(".") or not host:
        assert fqdn(host) == ""
        return
    assert name
    if want:
        assert registrable(name) == fqdn(want)
    else:
        assert registrable(name) == name
