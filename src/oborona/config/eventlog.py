"""Settings of the checked event log."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta


class TableEngine(StrEnum):
    """An engine that computes tables of events."""

    DUCKDB = "duckdb"
    PYSPARK = "pyspark"


class PersonModelMode(StrEnum):
    """What models of persons do."""

    SHADOW = "shadow"
    LIVE = "live"


class EventLogSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The checked event log: tables of what people, senders and other services did, each event with
    the rules that it fired (docs/operate/eventlog.md). Needs the extra `eventlog` of the package.
    """

    enabled: Annotated[
        bool,
        Meta(description="Whether logs are exported and checked."),
    ] = False
    folder: Annotated[
        str,
        Meta(
            pattern=r"\A(/[^\x00-\x1f\x7f]+)?\Z",
            max_length=4096,
            description="Where the tables lie, a folder of their own that is there and is ours to "
            "write. Empty: the folder eventlog of the state folder.",
            extra={"allowed": 'an absolute path, or ""'},
        ),
    ] = ""
    back_hours: Annotated[
        float,
        Meta(
            ge=0,
            le=8760,
            description="How far back our own logs are taken when they are first exported.",
        ),
    ] = 24.0
    look_s: Annotated[
        float, Meta(ge=0.1, le=300, description="How often it is looked for new events and files.")
    ] = 5.0
    batch_tables: Annotated[
        int,
        Meta(
            ge=1,
            le=288,
            description="Tables of five minutes that are checked together after an outage; more are "
            "faster and take more memory.",
        ),
    ] = 12
    table_rows: Annotated[
        int,
        Meta(
            ge=1,
            le=100_000_000,
            description="Rows that a file of others may have; one with more is set aside.",
        ),
    ] = 2_000_000
    renew_thresholds: Annotated[
        bool,
        Meta(
            description="Whether thresholds are made anew each day of what persons did on the day "
            "before; what a log declares is then the least. Off is the hand brake: for events that "
            "are checked from then on what is declared holds.",
        ),
    ] = True
    daily_pass: Annotated[
        bool,
        Meta(
            description="Whether each day is gone over once it is over, three hours later: all "
            "rules look at all of its rows, and it is found who was caught. Off, days are gone over "
            "that somebody asks for (oborona eventlog pass).",
        ),
    ] = True
    person_models: Annotated[
        PersonModelMode,
        Meta(
            description="What models of persons do (oborona eventlog model). shadow: each pass over "
            "a day writes down what they say. live: event rules see it, too, as person.score."
        ),
    ] = PersonModelMode.SHADOW
    late_minutes: Annotated[
        float,
        Meta(
            gt=0,
            le=10_080,
            description="People are told (alarm) of tables that wait so long for their check, and "
            "of files that were set aside.",
        ),
    ] = 60.0
    silent_minutes: Annotated[
        float,
        Meta(
            ge=0,
            le=10_080,
            description="People are told of a source that gives no table for so long, and for "
            "three times as long as usual; 0: they are not.",
        ),
    ] = 15.0
    ready_minutes: Annotated[
        float,
        Meta(
            ge=0,
            le=10_080,
            description="A half hour or a day of events is delivered, or added to, when no table "
            "has brought anything of it for so long.",
        ),
    ] = 60.0
    keep_days: Annotated[
        float,
        Meta(
            ge=0,
            le=36_500,
            description="Tables of days older than this are removed; 0: none. Those of five minutes "
            "stay two days, those of half hours three.",
        ),
    ] = 0.0
    memory_mib: Annotated[
        int,
        Meta(
            ge=64,
            le=1_048_576,
            description="Memory of the engine, in MiB; what does not fit it puts on the disk. A "
            "batch that does not fit is tried with half of its tables.",
        ),
    ] = 512
    threads: Annotated[
        int, Meta(ge=1, le=256, description="Threads of the engine: mail comes first.")
    ] = 1
    engine: Annotated[
        TableEngine,
        Meta(
            description="What computes. duckdb: this process, on this machine. pyspark: a cluster of "
            "Spark, driven by this process; eventlog.folder is then one that all its machines see."
        ),
    ] = TableEngine.DUCKDB
    spark_master: Annotated[
        str,
        Meta(
            pattern=r"\A(local(\[[0-9*, ]+\])?|local-cluster\[[0-9, ]+\]|yarn|(spark|k8s)://[^\s\x00-\x1f]+)\Z",
            max_length=1024,
            description="Where the cluster is, as Spark writes it: spark://HOST:7077, yarn, "
            "k8s://https://HOST:6443, or local[4], this machine with 4 threads.",
            extra={"allowed": "an address of a cluster of Spark"},
        ),
    ] = "local[1]"
    spark_settings: Annotated[
        str,
        Meta(
            pattern=r"\A(spark\.[A-Za-z0-9_.-]{1,200}=[!-~]+( |\Z))*\Z",
            max_length=10_000,
            description="Settings of Spark, with spaces between: spark.executor.memory=8g "
            "spark.executor.cores=2.",
            extra={
                "allowed": 'NAME=VALUE with single spaces between, each name with spark., or ""'
            },
        ),
    ] = ""
