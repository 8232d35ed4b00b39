"""The golden mails, and what they are judged by: the policy that ships with tests/golden/policy.d
after it, and one DNS for all.

tests/golden/mails/NN-slug.eml is the mail, NN-slug.readme what it is, NN-slug.want.json what must
come of it, NN-slug.dns (TOML: name, kind, record) what the DNS says about it, if that matters.
Mails of your own, which are nobody else's business, go into tests/golden/private/ in the same form;
git does not see them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

GOLDEN = Path(__file__).parents[1] / "golden"
MAILS = sorted([*GOLDEN.glob("mails/*.eml"), *GOLDEN.glob("private/*.eml")])
each_mail = pytest.mark.parametrize("mail", MAILS, ids=lambda mail: mail.stem)


def want(mail: Path) -> dict[str, Any]:
    """Return what must come of a mail."""
    wanted: dict[str, Any] = json.loads(mail.with_suffix(".want.json").read_text())
    return wanted
