"""Makes the model that comes with Oborona, and measures it on sources that it was not taught with.

    python benchmarks/shipped_model.py --mail DIR --generated DIR [--out FILE] [--at DATE]

Mail as for `sources.py`; `--generated` is a folder of `generated_mail.py`, of which one half is
taught and the other is judged.  Each source is left out once, all its spam and good mail; trees are
taught with the others.  The line is moved so that at most `LOST` of all good mail that was left out
is lost with what the trees add.  That choice sees the mail it is measured by: `nested` is what is
lost and caught of each source by the line that the others give alone.

Without `--out` nothing is written.  `--without` leaves facts out, to see what they are worth.
  `--at` is the date that the file has; the same mail, policy and
library give the same file.  One line of JSON on standard output, a table on standard error.  Takes
the extra `ml`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from benchmarks import sources  # noqa: E402
from benchmarks.clean_facts import SourcedTable, examples  # noqa: E402
from benchmarks.shipped_trees import (  # noqa: E402
    GENERATED,
    POINTS,
    AddingTrees,
    log_odds_of,
    taught_trees,
)
from oborona import __version__  # noqa: E402
from oborona.atomic_file import write_atomically  # noqa: E402
from oborona.feedback.final.train import SEED  # noqa: E402
from oborona.policy.fact_table import SCHEMA  # noqa: E402
from oborona.policy.load import Policy, load_policy  # noqa: E402
from oborona.policy.models.content.calibration import Calibration  # noqa: E402
from oborona.policy.models.final.curves import Floats, quality  # noqa: E402
from oborona.policy.models.final.file import TrainedModel, encode  # noqa: E402
from oborona.policy.models.final.law import LEAST  # noqa: E402
from oborona.policy.models.final.summary import TrainingSummary  # noqa: E402

LOST: Final = 0.002  # of the good mail that was left out
STEP: Final = 0.05  # log-odds by which the line is moved
FURTHEST: Final = 10.0


class LeftOutOdds:
    """What trees that were taught without a message's source say of it.

    Args:
        dealt: messages of several sources.
        policy: whose lines and cap they are judged by.
    """

    def __init__(self, dealt: SourcedTable, policy: Policy) -> None:
        self.dealt = dealt
        self.policy = policy
        self.real = dealt.source != GENERATED
        self.taught = self.real | ~dealt.untaught
        self.odds = np.zeros(len(dealt.source))
        for source in np.unique(dealt.source[self.real]):
            out = dealt.source == source
            self.odds[out] = log_odds_of(taught_trees(dealt, self.taught & ~out), dealt, out)

    def scores(self, offset: float) -> Floats:
        """Return the scores with what is added, under the first cap."""
        points = POINTS * (self.odds - offset)
        return self.dealt.table.scores + np.where(
            points < LEAST, 0.0, np.minimum(points, self.dealt.room)
        )

    def filed(self, offset: float) -> NDArray[np.bool_]:
        """Tell which messages are filed as spam."""
        return self.scores(offset) >= self.policy.verdict.spam_score

    def offset(self, part: NDArray[np.bool_]) -> float:
        """Return the least offset at which little enough of the good mail of a part is lost."""
        good = part & self.real & ~self.dealt.table.spam
        before = self.dealt.table.scores >= self.policy.verdict.spam_score
        for offset in np.arange(0.0, FURTHEST, STEP):
            more = self.filed(offset) & ~before
            if more[good].sum() <= LOST * good.sum():
                return round(float(offset), 2)
        return FURTHEST

    def row(self, source: str, offset: float) -> dict[str, Any]:
        """Return what is caught and lost of a source, beside the rules alone."""
        own = self.dealt.source == source
        nested = self.offset(~own)
        row: dict[str, Any] = {"source": source}
        for kind, name, done in ((True, "spam", "caught"), (False, "ham", "lost")):
            part = own & (self.dealt.table.spam == kind)
            row[name] = int(part.sum())
            row[f"{done}_by_rules"] = self._filed(part, np.inf)
            row[done] = self._filed(part, offset)
            row[f"{done}_nested"] = self._filed(part, nested)
        return row

    def _filed(self, part: NDArray[np.bool_], offset: float) -> int:
        return int(self.filed(offset)[part].sum())

    def summary(self, model: AddingTrees, offset: float) -> TrainingSummary:
        """Return what is told of the model that was taught with all sources."""
        spam, real = self.dealt.table.spam, self.real
        names = ", ".join(np.unique(self.dealt.source).tolist())
        return TrainingSummary(
            spam=int((spam & self.taught).sum()),
            ham=int((~spam & self.taught).sum()),
            judged=int(real.sum()),
            score=quality(self.dealt.table.scores[real], spam[real], seed=SEED),
            final=quality(self.scores(offset)[real], spam[real], seed=SEED),
            importance=model.importance,
            software=f"oborona {__version__}, catboost {version('catboost')}, sources {names}",
        )


def main() -> None:
    """Leave each source out once, then teach with all, and write the model."""
    parser = sources.mail_options(__doc__ or "")
    parser.add_argument("--generated", type=Path, required=True, help="folder with index.tsv")
    parser.add_argument("--out", type=Path, help="file of the model")
    parser.add_argument("--without", default="", help="expression for facts that are left out")
    parser.add_argument("--at", default="1970-01-01", help="date that the file has")
    options = parser.parse_args()
    if options.mail is None:
        parser.error("name mail of several sources by --mail")
    policy = load_policy(options.policy, SCHEMA)
    mail = [*sources.messages(options), *sources.indexed(options.generated)]
    dealt = SourcedTable(*asyncio.run(examples(policy, iter(mail))), options.without)
    left = LeftOutOdds(dealt, policy)
    offset = left.offset(left.real)
    model = taught_trees(dealt, left.taught)
    fresh = ~left.taught
    left.odds[fresh] = log_odds_of(model, dealt, fresh)
    rows = [left.row(source, offset) for source in np.unique(dealt.source[left.real]).tolist()]
    generated = dealt.source == GENERATED
    lost = int(left.filed(offset)[generated & fresh].sum())
    trained = TrainedModel(
        features=model.features,
        trees=model.trees,
        calibration=Calibration(slope=1.0, offset=-offset),
        policy=policy.version,
        trained_at=datetime.fromisoformat(options.at).replace(tzinfo=UTC).timestamp(),
        summary=left.summary(model, offset),
        points=POINTS,
    )
    octets = encode(trained)
    if options.out is not None:
        write_atomically(options.out, octets)
    Console(stderr=True).print(_table(rows))
    told = {"offset": offset, "generated": int((generated & fresh).sum()), "generated_lost": lost}
    size = {"features": len(model.features), "octets": len(octets)}
    print(json.dumps({"benchmark": "shipped_model", "rows": rows, **told, **size}))


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table(title="a source that was not taught: messages filed as spam")
    for name in rows[0] if rows else ():
        table.add_column(name, justify="left" if name == "source" else "right")
    for row in rows:
        table.add_row(*map(str, row.values()))
    return table


if __name__ == "__main__":
    main()
