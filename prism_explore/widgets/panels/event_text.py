"""An event as one line of the log: a sentence, the style of its mark, and the id that it concerns."""

from __future__ import annotations

from typing import NamedTuple, assert_never

from prism_explore.events import kinds
from prism_explore.events.claim import tuning_end_text
from prism_explore.events.format import count_text, fork_text, programs_text, seconds_text, verdict_text
from prism_explore.widgets.refs import lemma_ref, names_graph
from prism_explore.widgets.views.marks import PRUNED_KINDS
from prism_explore.widgets.views.tuning import parameters_text


class LogLine(NamedTuple):
    """A line of the log."""

    text: str
    ref: str = ""
    """The id that the event concerns; empty for none."""
    kind: str = ""
    """Style of the mark before the text; empty for none."""


def log_line(event: kinds.Event) -> LogLine:
    """The line of the log for an event."""
    match event:
        case kinds.ExplorationStarted():
            name = event.program.splitlines()[0]
            return LogLine(f"the search started: {name}, on {event.target}, seed {event.seed}")
        case kinds.RivalTimed():
            if event.samples:
                return LogLine(f"baseline {event.name}: {seconds_text(event.time_s)}, the time to improve on")
            return LogLine(f"baseline {event.name} was not timed: {event.note}")
        case kinds.NodeExpanded():
            return LogLine(f"{event.node} was expanded by {event.operator}", event.node, "expanded")
        case kinds.RegionPruned():
            text = f"{event.region} was pruned at {event.operator}: {event.reason.sentence}"
            return LogLine(text, event.region, PRUNED_KINDS[event.reason.soundness])
        case kinds.FamilyCompleted():
            text = f"{event.family} is complete: its result can equal that of the program"
            return LogLine(text, event.family, "family")
        case kinds.SpaceCounted():
            return LogLine(f"the space has {programs_text(event.whole)} graphs, pruned and ill-formed ones included")
        case kinds.CandidateInstantiated():
            maps = ", ".join(event.uses) or "no dim is partitioned"
            return LogLine(f"maps were chosen for {event.candidate}: {maps}", event.candidate)
        case kinds.CandidateRejected():
            maps = ", ".join(event.uses) or "(none)"
            text = f"{event.family}: maps {maps} are not allowed: {event.reason.sentence}"
            return LogLine(text, event.family, PRUNED_KINDS[event.reason.soundness])
        case kinds.CandidateBounded():
            bound, best = seconds_text(event.floor_s), seconds_text(event.best_s)
            text = f"{event.candidate} was not timed: its modelled bound {bound} is no better than {best}"
            return LogLine(text, event.candidate)
        case kinds.SaturationStepped():
            text = f"e-graph of {event.subject}, iteration {event.iteration}: {event.nodes} nodes"
            return LogLine(text, lemma_ref(event.subject))
        case kinds.VerdictReached():
            return LogLine(f"{event.candidate} is {verdict_text(event)}", event.candidate, event.verdict)
        case kinds.CertificateReplayed():
            replayed = sum(lemma[4] for lemma in event.lemmas)
            text = f"{event.candidate}: egglog replayed {replayed} of {len(event.lemmas)} lemmas"
            return LogLine(text, event.candidate)
        case kinds.FloatsAssessed():
            return LogLine(f"{event.family} in floating point, {event.outcome}: {event.detail}", event.family)
        case kinds.FamilyDominated():
            effect = "is not tuned" if event.left_out else "is tuned later"
            return LogLine(f"{event.family} {effect}: {event.by} costs no more in the cost model", event.family)
        case kinds.KernelGenerated():
            return LogLine(f"{event.trial}: {event.backend} source for {event.candidate}", event.trial)
        case kinds.ParametersProposed():
            parameters, modelled = parameters_text(event.parameters), seconds_text(event.modelled_s)
            return LogLine(f"{event.trial} will try {parameters}: {modelled} modelled", event.trial)
        case kinds.TrialMeasured():
            return LogLine(f"{event.trial} took {seconds_text(event.time_s)}, error {event.error:.1e}", event.trial)
        case kinds.TrialFailed():
            return LogLine(f"{event.trial} failed: {event.reason.sentence}", event.trial, "trial-failed")
        case kinds.IncumbentImproved():
            text = f"{event.trial} of {event.candidate} is the best so far: {seconds_text(event.time_s)}"
            return LogLine(text, event.trial, "badge-best")
        case kinds.PlayedOff(order):
            text = f"{order[0]} is the fastest of {len(order)} trials with similar times, measured again in turns"
            return LogLine(text, order[0])
        case kinds.TuningEnded():
            after = count_text(event.trials, "trial", "trials")
            return LogLine(f"tuning ended after {after}, {tuning_end_text(event)}")
        case kinds.BaselineMeasured():
            return LogLine(f"baseline {event.name}: {seconds_text(event.time_s)}")
        case kinds.Steered():
            kind = "pruned-user" if event.action == "reject" else ""
            ref = event.subject if names_graph(event.subject) else ""
            values = f" to {event.values[0]:,} … {event.values[1]:,}" if event.values else ""
            return LogLine(f"you: {event.action} {event.subject}{values}", ref, kind)
        case kinds.SearchForked():
            return LogLine(fork_text(event))
        case kinds.SearchRepeated():
            return LogLine(f"{count_text(event.events, 'event', 'events')} out of the cache, stored {event.stored}")
        case kinds.Bookmarked():
            action = "deleted the bookmark" if event.deleted else "bookmark"
            place = event.ref or f"event {event.at:,}"
            return LogLine(
                f"you: {action} {event.bookmark} on {place}" + (f": {event.note}" if event.note else ""), event.ref
            )
        case kinds.ExplorationFinished():
            return LogLine(f"the search ended: {event.stop}")
        case _:
            assert_never(event)
