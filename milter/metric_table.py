"""The metrics that there are, each with its words for people; docs/operate/monitoring.md is written from these tables."""

from __future__ import annotations

from typing import Final, NamedTuple


class Description(NamedTuple):
    """One metric."""

    name: str
    help: str
    labels: tuple[str, ...]
    counts: bool  # only grows
    steps: bool = False  # a histogram

    @property
    def kind(self) -> str:
        """What Prometheus calls its kind."""
        return "histogram" if self.steps else "counter" if self.counts else "gauge"


METRICS: Final = (
    Description("oborona_up", "1 for each worker that runs.", (), counts=False),
    Description("oborona_verdicts", "Verdicts by stage and action.", ("stage", "action"), counts=True),
    Description(
        "oborona_door",
        "Requests and connections of a listener by outcome: answered; busy: temporary failure; crowded: too many connections of one client; foreign: of no network that is allowed;"
        " broken, timeout, unauthorized, too-large, failed: no answer of a scan. Of the policy service, crowded and foreign alone; of the milter, busy besides.",
        ("door", "outcome"),
        counts=True,
    ),
    Description(
        "oborona_busy",
        "Messages of all listeners, and commands before one, that got a temporary failure, for too many were being judged, or more than can be in time.",
        (),
        counts=True,
    ),
    Description(
        "oborona_set_apart",
        "Messages that were filed as spam and not looked into, for workers had died over them (`oborona set-apart list`).",
        (),
        counts=True,
    ),
    Description("oborona_rule_hits", "Messages that a rule hit.", ("rule", "mode"), counts=True),
    Description(
        "oborona_would",
        "Messages of which everything in shadow mode would have made another verdict.",
        ("action", "would"),
        counts=True,
    ),
    Description(
        "oborona_scan_seconds",
        "How long scans took, waiting for the DNS and for pictures included.",
        (),
        counts=False,
        steps=True,
    ),
    Description("oborona_policy_info", "1 for the version of the policy in use.", ("version",), counts=False),
    Description(
        "oborona_authentication",
        "Results of authentication, of each DKIM signature one.",
        ("method", "result"),
        counts=True,
    ),
    Description("oborona_dns", "What the resolver did, by kind of event.", ("event",), counts=True),
    Description(
        "oborona_dns_list_healthy",
        "1 while the worker trusts a DNS list; at 0 the list counts nothing.",
        ("list",),
        counts=False,
    ),
    Description(
        "oborona_dns_list_questions", "Questions to a DNS list by outcome.", ("list", "outcome"), counts=True
    ),
    Description(
        "oborona_engine_away",
        "1 while another engine is not asked, for it gave no answers.",
        ("engine",),
        counts=False,
    ),
    Description(
        "oborona_engine_questions",
        "Questions to another engine by outcome; answered, and why its opinion is unknown else: timeout, unreachable, broken (no answer"
        " but words), away, busy (too many at a time), too-large, fault.",
        ("engine", "outcome"),
        counts=True,
    ),
    Description(
        "oborona_engine_seconds", "Time that questions to another engine took.", ("engine",), counts=True
    ),
    Description(
        "oborona_deliveries",
        "Recipients at the delivery listener, by the verdict of their copy and what the mail server was answered.",
        ("verdict", "answer"),
        counts=True,
    ),
    Description(
        "oborona_next_hop_trouble",
        "Messages that met trouble at the next hop of the delivery listener; those without an answer were put off.",
        ("step", "trouble"),
        counts=True,
    ),
    Description(
        "oborona_pictures",
        "Pictures that scans handed to the image reader, by task (look, read) and outcome.",
        ("task", "outcome"),
        counts=True,
    ),
    Description(
        "oborona_late",
        "Messages whose pictures were read after the answer, by what came of it; dropped: too many waited.",
        ("outcome",),
        counts=True,
    ),
    Description("oborona_late_waiting", "Messages whose pictures wait to be read.", (), counts=False),
    Description(
        "oborona_signatures",
        "Signatures that the worker holds; live and shadow are looked for, broken can't be used.",
        ("state",),
        counts=False,
    ),
    Description(
        "oborona_signature_hits", "Signatures found in messages, each once.", ("flag", "mode"), counts=True
    ),
    Description(
        "oborona_model_wrong",
        "1 while the worker can't use the weights of the content model, which says nothing then.",
        (),
        counts=False,
    ),
    Description(
        "oborona_final_wrong",
        "1 while the worker refuses the file of the final model; the one before it, or the score of the rules, decides.",
        (),
        counts=False,
    ),
    Description("oborona_final_info", "Version of the final model in use.", ("version",), counts=False),
    Description(
        "oborona_persons", "Persons who may have lists, as far as the worker knows.", (), counts=False
    ),
    Description(
        "oborona_person_looks",
        "How often a person's lists were looked for, by outcome; failed: policy decided alone.",
        ("outcome",),
        counts=True,
    ),
    Description("oborona_contacts_learned", "Contacts learned from outgoing mail.", (), counts=True),
    Description(
        "oborona_traps",
        "Messages that came to traps, by whether they were written down; known: they came again; failed: they could not be.",
        ("outcome",),
        counts=True,
    ),
    Description(
        "oborona_persons_stale",
        "1 while the store of persons can't be read; policy decides alone for those who were not read before.",
        (),
        counts=False,
    ),
    Description(
        "oborona_signatures_stale",
        "1 while the store of signatures can't be used and what was known stays.",
        (),
        counts=False,
    ),
    Description(
        "oborona_pins",
        "Manual overrides of reputation (`oborona reputation set`) that are in force, by flag.",
        ("flag",),
        counts=False,
    ),
    Description(
        "oborona_pins_stale",
        "1 while the store of manual overrides can't be used and what was known stays.",
        (),
        counts=False,
    ),
)
"""Each has the label `worker` first: a worker that is started again begins at zero."""

SERVICE_METRICS: Final = (
    Description(
        "oborona_process_serves",
        "1 while a process serves; 0 while it starts, hangs, or waits to be started again.",
        ("process",),
        counts=False,
    ),
    Description(
        "oborona_process_starts", "Starts of a process since the service began.", ("process",), counts=True
    ),
    Description(
        "oborona_process_deaths",
        "Ends of a process that nobody asked for, since the service began.",
        ("process",),
        counts=True,
    ),
    Description(
        "oborona_process_hung",
        "Times that a process was killed for showing no sign of life for worker.hung_s; the log has the stacks of its threads.",
        ("process",),
        counts=True,
    ),
)
"""Of each process of the service, by its supervisor."""

READER_METRICS: Final = (
    Description("oborona_reader_up", "1 while the image reader runs.", (), counts=False),
    Description(
        "oborona_reader_pictures",
        "Pictures by task and outcome; known: found before; shared: was being done for another message; stopped: killed at a limit.",
        ("task", "outcome"),
        counts=True,
    ),
    Description(
        "oborona_reader_seconds", "Seconds that processes of a task were busy.", ("task",), counts=True
    ),
    Description("oborona_reader_started", "Processes of a task that were started.", ("task",), counts=True),
    Description("oborona_reader_waiting", "Pictures that wait.", ("task",), counts=False),
    Description("oborona_reader_processes", "Processes of a task that run.", ("task",), counts=False),
)
"""Of the one image reader of a machine."""

POLICY_METRICS: Final = (
    Description(
        "oborona_policy_wrong",
        "1 while the policy files are refused and the old policy stays.",
        (),
        counts=False,
    ),
    Description(
        "oborona_policy_stuck",
        "1 while the policy files are right and can't be put in force; the log says why.",
        (),
        counts=False,
    ),
    Description(
        "oborona_policy_since_seconds",
        "When the policy in force came into force, Unix time.",
        (),
        counts=False,
    ),
    Description("oborona_policy_changes", "Changes of the policy in force.", (), counts=True),
    Description("oborona_policy_refusals", "Times that policy files were found broken.", (), counts=True),
    Description(
        "oborona_policy_refused_at_seconds",
        "When policy files were found broken last, Unix time; 0: never.",
        (),
        counts=False,
    ),
    Description(
        "oborona_policy_change_seconds",
        "Seconds that the last change took, from when it was seen until all workers judged by it.",
        (),
        counts=False,
    ),
    Description(
        "oborona_policy_late_workers",
        "Workers that were not ready in time at the last change.",
        (),
        counts=False,
    ),
)
"""Of the one process that publishes the policy."""

TRAINER_METRICS: Final = (
    Description("oborona_trainer_up", "1 while the trainer runs.", (), counts=False),
    Description(
        "oborona_model_words",
        "Labels (spam, ham) by what became of them and what they say; queued: not learned yet.",
        ("state", "kind"),
        counts=False,
    ),
    Description(
        "oborona_model_learned",
        "Messages that the weights of the content model stand on.",
        ("kind",),
        counts=False,
    ),
    Description(
        "oborona_model_changed_seconds",
        "When the weights of the content model last changed, Unix time; 0: never.",
        (),
        counts=False,
    ),
    Description(
        "oborona_model_relearning",
        "1 while the weights are computed again because labels were taken back.",
        (),
        counts=False,
    ),
    Description(
        "oborona_events_decided",
        "Spam reports (complaint), not-spam reports (pardon), traps, reads and deletions by how they came and what was decided: believed (accepted), own (for the person's own mail alone), refused.",
        ("what", "way", "decision"),
        counts=True,
    ),
    Description(
        "oborona_events_waiting",
        "Events that are written down and not decided yet, or whose effects are missing.",
        (),
        counts=False,
    ),
    Description(
        "oborona_events_trouble",
        "1 while nothing that people say is decided because a store is away.",
        (),
        counts=False,
    ),
)
"""Of the one trainer of a machine."""

INTAKE_METRICS: Final = (
    Description("oborona_intake_up", "1 while the intake runs.", (), counts=False),
    Description(
        "oborona_intake_events",
        "What people, reports and traps said, by way, what and outcome; new: written down; known: it was before; failed: could not be,"
        " and they were told to try again; dropped: too many reads at once.",
        ("way", "what", "outcome"),
        counts=True,
    ),
    Description(
        "oborona_intake_refused",
        "Requests that were no event, by listener and reason.",
        ("door", "reason"),
        counts=True,
    ),
    Description(
        "oborona_intake_stuck", "1 while nothing that people say can be written down.", (), counts=False
    ),
)
"""Of the one intake of a machine."""

SECOND_METRICS: Final = (
    Description("oborona_recheck_up", "1 while the recheck of delivered mail runs.", (), counts=False),
    Description(
        "oborona_recheck_messages",
        "Delivered messages that were rechecked, by outcome; glanced: a quick check was enough, as for most; unjudged: nothing can be"
        " said; failed: a fault; decided: copies that are to be moved.",
        ("outcome",),
        counts=True,
    ),
    Description(
        "oborona_recheck_moves",
        "Copies whose mailbox was asked for a move, by what it said; seen, listed, person, gone: they stay; busy: asked again later.",
        ("outcome",),
        counts=True,
    ),
    Description(
        "oborona_alerts",
        "Alerts by channel (webhook, mail; all: before either) and outcome; failed: given up, the log has it; dropped: too many kinds at once.",
        ("channel", "outcome"),
        counts=True,
    ),
    Description("oborona_recheck_waiting", "Changes whose messages are not all looked at.", (), counts=False),
    Description(
        "oborona_recheck_paused", "1 while moves have stopped until an admin says so.", (), counts=False
    ),
    Description("oborona_recheck_stuck", "1 while the recheck can't do something.", (), counts=False),
)
"""Of the one recheck of a machine."""

STORE_METRICS: Final = (
    Description(
        "oborona_store_lost_seconds",
        "When a store was found gone, empty, damaged or another site's and was begun anew, Unix seconds; 0: it never was.",
        ("store",),
        counts=False,
    ),
    Description(
        "oborona_store_off",
        "1 where a store could not be used at the last start and was left as it is.",
        ("store",),
        counts=False,
    ),
)
"""Of the stores of a machine."""
