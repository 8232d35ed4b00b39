"""Settings of the processes that look at pictures."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta


class ReaderSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Pictures in mail: looked at for codes and likeness, and read by OCR, in processes of their
    own.
    """

    enabled: Annotated[
        bool, Meta(description="Off: pictures are counted by their checksums alone.")
    ] = True
    processes: Annotated[
        int,
        Meta(
            ge=0,
            le=64,
            description="Processes that read text in pictures, at most; they start when there is "
            "something to read. 0: one per"
            " processor core.",
        ),
    ] = 0
    look_wait_s: Annotated[
        float,
        Meta(
            ge=0,
            le=10,
            description="A scan waits so long until its pictures have been looked at, at most "
            "half of worker.deadline_s; what is found"
            " later goes to the journal.",
        ),
    ] = 0.5
    read_wait_s: Annotated[
        float,
        Meta(
            ge=0,
            le=60,
            description="A scan of a message that is a picture and little else, and grey, waits "
            "so long until it has been read, at"
            " most half of worker.deadline_s.",
        ),
    ] = 5.0
    look_s: Annotated[
        float,
        Meta(
            ge=0.1, le=60, description="A process that looks at one picture for longer is killed."
        ),
    ] = 1.0
    read_s: Annotated[
        float,
        Meta(ge=0.5, le=300, description="A process that reads one picture for longer is killed."),
    ] = 10.0
    memory_mib: Annotated[
        int,
        Meta(
            ge=64,
            le=16_384,
            description=(
                "Memory that one picture may take in such a process, in MiB, on top of what "
                "the process has from its start."
            ),
        ),
    ] = 256
    queue: Annotated[
        int,
        Meta(
            ge=1,
            le=100_000,
            description=(
                "Pictures that may wait to be looked at, and as many to be read; what is more "
                "is not looked at."
            ),
        ),
    ] = 500
    queue_mib: Annotated[
        int, Meta(ge=1, le=4096, description="The same, in MiB of their files.")
    ] = 64
    cache_entries: Annotated[
        int,
        Meta(
            ge=0,
            le=1_000_000,
            description="Pictures whose results are kept: a campaign sends the same one many times.",
        ),
    ] = 10_000
    idle_s: Annotated[
        float,
        Meta(
            ge=1,
            le=86_400,
            description=(
                "A process that reads and had nothing to do for so long ends; the next "
                "picture starts one. The one that looks stays."
            ),
        ),
    ] = 30.0
    late_messages: Annotated[
        int,
        Meta(
            ge=0,
            le=10_000,
            description="Messages of one worker whose pictures may wait to be read after the "
            "answer was given; the oldest are"
            " given up. 0: pictures are read only where the answer waits for them.",
        ),
    ] = 200
    meaning: Annotated[
        bool,
        Meta(
            description="A process that says what texts mean, for grey mail; takes the extra "
            "`ml`, 150 MB of memory, and a final model that"
            " was trained with it.",
        ),
    ] = False
    meaning_wait_s: Annotated[
        float,
        Meta(
            ge=0,
            le=60,
            description="A scan of grey mail waits so long for it, at most half of worker.deadline_s.",
        ),
    ] = 0.5
    languages: Annotated[
        str,
        Meta(
            pattern=r"\A[a-zA-Z_]+( [a-zA-Z_]+)*\Z",
            max_length=200,
            description=(
                "Languages of Tesseract that pictures are read in, with spaces between; each "
                "more costs time."
            ),
            extra={"allowed": 'names of files *.traineddata, such as "rus eng"'},
        ),
    ] = "rus eng"
    tessdata: Annotated[
        str,
        Meta(
            pattern=r"\A/[^\x00-\x1f\x7f]+\Z",
            max_length=4096,
            description="Folder of these files.",
            extra={"allowed": "an absolute path"},
        ),
    ] = "/usr/share/tesseract-ocr/5/tessdata"
