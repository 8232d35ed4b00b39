"""A machine of a site that replaces the site's final model again and again, to be killed.

python -m tests.replication.site_model_program STATE
"""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

import msgspec

from oborona.policy.models.final.file import encode, version
from oborona.stores.final_training_record import replacing
from tests.stores.test_final_model import HTML_IS_SPAM


def main() -> None:
    """Replace it until killed; each model has another time, and is the one that decides."""
    state = Path(sys.argv[1])
    for number in count(1):
        octets = encode(msgspec.structs.replace(HTML_IS_SPAM, trained_at=1e9 + number))
        with replacing(state) as files:
            chosen = msgspec.structs.replace(files.choice(), own=version(octets), at=float(number))
            files.write_record(msgspec.structs.replace(files.record, choice=chosen, words=number))
            files.install(octets)
            files.choose(chosen)
        print(number, flush=True)


if __name__ == "__main__":
    main()
