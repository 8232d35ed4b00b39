"""A link leads to a program or page among a site's uploads, or into a hidden folder of it: a place
where the site's owner puts pictures, and where whoever broke in puts pages.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from oborona.message.model import EntityLocation
from oborona.policy.checks.context import CheckContext
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "link-into-uploads"

# folders of WordPress, Joomla and Drupal from which no page is served
_UPLOADS: Final = re.compile(
    r"/(?:wp-content/(?:uploads|upgrade|languages)|wp-includes|images|media|tmp|cache|sites/default/files)"
    r"/(?:[^?#]*/)?[^/?#]+\.(?:php[0-9]?|phtml|html?)\Z"
)
_OF_PROGRAM: Final = re.compile(r"/(?:wp-content|wp-includes)/")
_HIDDEN: Final = re.compile(r"/\.[^/.][^/]*/")
_PAGE: Final = re.compile(r"\.(?:php[0-9]?|phtml|html?)\Z|/\Z")


def check(context: CheckContext) -> Finding | None:
    """Return a finding with the first such link that a reader may follow."""
    for link in context.message.links:
        if "/." not in link.url and "/wp-" not in link.url and ".php" not in link.url:
            continue
        if link.place is EntityLocation.PICTURE:
            continue
        path = urlsplit(link.url).path.lower()
        if _into(path):
            return Finding(SLUG, quoted(f"{link.host}{path}", 120))
    return None


def _into(path: str) -> bool:
    if _UPLOADS.search(path):
        return bool(_OF_PROGRAM.search(path)) or path.endswith((".php", ".phtml"))
    # what stands in /.well-known/ is for programs, and no page: RFC 8615
    return bool(_HIDDEN.search(path) and _PAGE.search(path))
