"""What the pass over a whole day computes.

The rules are those of a batch (`transform.check`), over the rows of the day as if they were one
table with nothing before it. What is known of a row beside is the names that it was given out with.
"""

from __future__ import annotations

from typing import Final

import ibis
from ibis.expr import types as ir

from oborona.config.eventlog import TableEngine
from oborona.eventlog.rule_names import DUPLICATE
from oborona.eventlog.rules.columns import whole_micros
from oborona.eventlog.rules.compile import BETWEEN
from oborona.eventlog.schema import RULES
from oborona.eventlog.slots import DAY_S
from oborona.eventlog.transform.check import QUIET

KINDS: Final = ("names_before", "names_found", QUIET)
"""What the rules of a row follow from, beside whether its person was caught."""
ONE_TABLE: Final = 0
"""The number and the slot of the table that a day is taken for."""


def placed_rows(rows: ir.Table, engine: TableEngine) -> ir.Table:
    """Return the rows of a day with `place`, `moment`, and `names_before`: their rules as a text.

    They are numbered by time. Of rows of one time those come last that were told to be duplicates,
    so that what was given out as the original stays it; then all columns decide: the same rows have
    the same numbers in whatever order they lie on the disk.

    Args:
        rows: the columns of the log, and its rules.
        engine: for which the statement is.
    """
    known = rows.mutate(
        moment=whole_micros(rows["time"], engine),
        names_before=names_of(rows[RULES]),
        told_twice=rows[RULES].contains(DUPLICATE),
    )
    others = [column for column in rows.columns if column not in ("time", RULES)]
    order = ["moment", "told_twice", *others, "names_before"]
    place = ibis.row_number().over(ibis.window(order_by=[known[name] for name in order]))
    return known.mutate(place=place).drop(RULES, "told_twice")


def afresh(rows: ir.Table) -> ir.Table:
    """Return rows of `placed_rows` as if they had been given out without rules, which they have in
    `names_given`.
    """
    return rows.mutate(names_given=rows.names_before, names_before=ibis.literal(""))


def one_table(rows: ir.Table) -> ir.Table:
    """Return rows of `placed_rows` as those of a batch of one table."""
    one = ibis.literal(ONE_TABLE, type="int64")
    return rows.mutate(table=one, slot=one, day=one - DAY_S)


def names_of(rules: ir.ArrayValue) -> ir.StringValue:
    """Return lists of names as texts with a comma before each name."""
    return ibis.ifelse(rules.length() == 0, "", BETWEEN + rules.join(BETWEEN))


def judged_rows(rows: ir.Table, fired: ir.Table) -> ir.Table:
    """Return what each row had and what fires on it now.

    Args:
        rows: of `placed_rows`.
        fired: of `check.fired_rules` over them.

    Returns:
        `place`, `person`, `names_before`, `names_found`, `names_shadow`, `names_quiet`: names as
        texts.
    """
    now = fired.rename(of_place="place", names_found="rules", names_shadow="shadow").view()
    joined = rows.inner_join(now, rows.place == now.of_place)
    return joined.select("place", "person", *KINDS, "names_shadow")


def kinds_of_rows(judged: ir.Table) -> ir.Table:
    """Return `names_before`, `names_found`, `names_quiet`, `names_shadow` that rows have together,
    and `rows`.
    """
    return judged.group_by(*KINDS, "names_shadow").agg(rows=judged.count())


def marked_persons(judged: ir.Table, counted: ir.Table) -> ir.Table:
    """Return how many rows each person has that was marked, and how many of them are.

    Args:
        judged: of `judged_rows`.
        counted: `names_before`, `names_found`, `names_quiet` of rows that speak against their
            person.

    Returns:
        `person`, `events`, `marked`, in order of person.
    """
    known = judged.filter(judged.person.notnull())
    marked = known.semi_join(counted, KINDS)
    marked = marked.group_by("person").agg(marked=marked.count())
    events = known.semi_join(marked, "person").group_by("person").agg(events=ibis._.count())
    return events.inner_join(marked, "person").order_by("person")


def kinds_of_persons(judged: ir.Table, persons: ir.Table) -> ir.Table:
    """Return which names the rows of some persons have: `person`, `names_before`, `names_found`,
    `names_quiet`.
    """
    some = judged.semi_join(persons, "person").select("person", *KINDS)
    return some.distinct().order_by("person", *KINDS)


def names_of_persons(rows: ir.Table) -> ir.Table:
    """Return how many `rows` each `person` has of each `names_before`."""
    known = rows.filter(rows.person.notnull())
    return known.group_by("person", "names_before").agg(rows=known.count())


def final_rows(rows: ir.Table, judged: ir.Table, persons: ir.Table, meanings: ir.Table) -> ir.Table:
    """Return the rows of the day with the rules that they have from now on.

    Args:
        rows: of `placed_rows`.
        judged: of `judged_rows` over them.
        persons: `person` of those who were caught.
        meanings: `names_before`, `names_found`, `names_quiet`, `caught`, and `names_after`, which
            follows.

    Returns:
        The columns of the log, `names_before` and `names_after`, in order of their places.
    """
    named = persons.select(of_person="person").mutate(known=ibis.literal(value=True))
    who = judged.left_join(named, judged.person == named.of_person)
    known = who.known.fill_null(False)
    told = who.select(*KINDS, caught=known, of_place=who.place).view()
    meant = told.inner_join(meanings, [*KINDS, "caught"])
    meant = meant.select("of_place", "names_after").view()
    joined = rows.inner_join(meant, rows.place == meant.of_place)
    return joined.order_by("place").drop("place", "of_place", "moment")


def compared_kinds(final: ir.Table) -> ir.Table:
    """Return `names_given`, `names_after` that rows of `final_rows` have together, and `rows`."""
    return final.group_by("names_given", "names_after").agg(rows=final.count())


def compared_persons(final: ir.Table) -> ir.Table:
    """Return each `person` of `final_rows` whom rules mark, and did not, or the reverse: `marked`
    says whether they do now. In order of person.
    """
    known = final.filter(final.person.notnull())
    counts = known.group_by("person").agg(
        was=(known.names_given != "").max(), marked=(known.names_after != "").max()
    )
    other = counts.filter(counts.was != counts.marked)
    return other.select("person", "marked").order_by("person")


def changed_rows(final: ir.Table, changed: ir.Table, most: int) -> ir.Table:
    """Return some rows of `final_rows` whose rules are others, the earliest first.

    Args:
        final: those rows.
        changed: `names_given`, `names_after` that are not the same rules.
        most: how many.
    """
    other = final.semi_join(changed, ["names_given", "names_after"])
    columns = ["id", "person", "event", "names_given", "names_after"]
    return other.order_by(["time", *columns]).select(*columns).limit(most)
