"""The answer of an audit: whether a region was pruned rightly, from what a shadow run found in it.

The answer "right" requires a region that was searched to its end. The answer "wrong" requires a finished search.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from prism_explore.diagnose.shadow_run import FoundFamily, ShadowRun
from prism_explore.events.format import count_text
from prism_explore.events.kinds import ExplorationFinished, RegionPruned
from prism_explore.generate.region_replay import ReopenedRegion

Answer: TypeAlias = Literal["right", "wrong", "undecided", "covered", "gained", "nothing gained"]
"""For a rule's pruning: right, wrong, undecided, or covered (another rule prunes the same steps). For a region that a
budget or the user left out: whether searching it gained a proved family."""

MAX_NAMED = 3
"""How many items a text lists."""


class Judgement(NamedTuple):
    """The answer of an audit."""

    answer: Answer
    text: str
    """The answer in one or two sentences."""


@dataclass(frozen=True, slots=True)
class SearchedRegion:
    """A pruned region that a shadow run searched."""

    region: RegionPruned
    reopened: ReopenedRegion
    shadow: ShadowRun
    rules_off: frozenset[str]
    end: ExplorationFinished | None
    """The end of the audited search; None if it has not ended."""

    @property
    def spent_budget(self) -> str:
        """The budget that ended the shadow run; empty if the region was searched to its end."""
        return "candidates" if self.shadow.out_of_budget else "nodes" if self.reopened.out_of_budget else ""

    @property
    def setting(self) -> str:
        """The rules that were off, as text."""
        return f"with {_list(sorted(self.rules_off))} off"

    @property
    def lost(self) -> list[FoundFamily]:
        """Proved families of the stated space that the search lacks."""
        return [f for f in self.shadow.found if f.status == "lost"]


def judge_region(searched: SearchedRegion) -> Judgement:
    """Whether a rule pruned a region rightly."""
    name, reason = searched.region.region, searched.region.reason
    if reason.soundness in ("budget", "user"):
        subject = f"{name}, which {reason.rule} left out,"
        return judge_left_out(subject, searched.shadow, searched.spent_budget, searched.reopened.nodes)
    if searched.reopened.cut_on_path:
        return Judgement(
            "undecided",
            f"{name} cannot be reached {searched.setting}: {searched.reopened.cut_on_path}, is pruned on the path to "
            "it. Name another rule to switch off: audit(rules_off=[...]).",
        )
    if searched.lost:
        return _judge_lost(searched)
    return _judge_unopened(searched) or _judge_searched(searched)


def _judge_lost(searched: SearchedRegion) -> Judgement:
    name, reason, lost, end = searched.region.region, searched.region.reason, searched.lost, searched.end
    if end is not None and end.stop == "exhausted":
        return Judgement(
            "wrong",
            f"{name} was pruned wrongly: {searched.setting}, it has "
            f"{count_text(len(lost), 'proved family', 'proved families')} that the search lacks, "
            f"{_list(f.family for f in lost[:MAX_NAMED])} of the shadow run first. {reason.rule} is declared "
            f"{reason.soundness}, and lost {'it' if len(lost) == 1 else 'them'}.",
        )
    state = "has not ended" if end is None else "stopped at its budget" if end.stop == "budget" else "was cancelled"
    return Judgement(
        "undecided",
        f"{name} has {count_text(len(lost), 'proved family', 'proved families')} that the search lacks, but the search "
        f"{state}, so it may not have reached them yet. Let it end, then audit again.",
    )


def _judge_unopened(searched: SearchedRegion) -> Judgement | None:
    """The answer where other rules, or sizes, keep every step of the region pruned; None where a step was searched."""
    name, reopened = searched.region.region, searched.reopened
    if any(rule == "limit.ops" and rule in searched.rules_off for rule in reopened.cut_at_once.values()):
        return Judgement(
            "undecided",
            f"{name} does not open {searched.setting}: it has more unused tensors than operators left, so limit.ops "
            "cannot be switched off there. Search a larger space.",
        )
    if not reopened.cut_at_once or reopened.nodes:
        return None
    others = sorted(set(reopened.cut_at_once.values()) - searched.rules_off)
    if not others:
        text = f"{name} was pruned rightly: {searched.setting}, the sizes of the operands do not match either."
        return Judgement("right", text)
    verb = "prunes" if len(others) == 1 else "prune"
    return Judgement(
        "covered",
        f"{name} stays pruned {searched.setting}: {_list(others)} {verb} the same steps, so it is right if they are. "
        f"To audit without {'it' if len(others) == 1 else 'them'}: audit(rules_off=[{', '.join(map(repr, others))}]).",
    )


def _judge_searched(searched: SearchedRegion) -> Judgement:
    name, reopened, shadow = searched.region.region, searched.reopened, searched.shadow
    amount = f"{searched.setting}, {_amount(reopened.nodes, shadow)}"
    excluded = [f for f in shadow.found if f.status == "excluded"]
    many = count_text(len(excluded), "proved family is", "proved families are")
    also = f" {many} outside the stated space: {excluded[0].explanation}." if excluded else ""
    if budget := searched.spent_budget:
        return Judgement(
            "undecided",
            f"{name} was searched in part: {amount}, then the budget of {budget} was spent. No proved family was found "
            f"there that the search lacks. That does not show that the pruning was right; audit({budget}=...) "
            f"continues.{also}",
        )
    if shadow.undecided:
        return Judgement(
            "undecided",
            f"{name} was searched to its end: {amount}. "
            f"{count_text(len(shadow.undecided), 'family is', 'families are')} unknown, neither proved nor refuted, "
            f"and the search lacks {'it' if len(shadow.undecided) == 1 else 'them'}.{also}",
        )
    if len(reopened.taken) < len(reopened.steps):
        return Judgement(
            "undecided",
            f"{name} was searched in part: {len(reopened.taken)} of its {len(reopened.steps)} steps, {amount}. "
            f"No proved family was found there that the search lacks.{also}",
        )
    inside = sum(isinstance(e, RegionPruned) for e in shadow.journal.events)
    others = (
        f" The other rules were on and pruned {count_text(inside, 'subtree', 'subtrees')} inside." if inside else ""
    )
    return Judgement(
        "right",
        f"{name} was pruned rightly: it was searched to its end, {amount}, and has no proved family that the search "
        f"lacks.{others}{also}",
    )


def judge_left_out(subject: str, shadow: ShadowRun, spent_budget: str, nodes: int) -> Judgement:
    """Whether a region that a budget or the user left out has a proved family that the search lacks."""
    lost = [f for f in shadow.found if f.status == "lost"]
    amount = _amount(nodes, shadow)
    end = f", where the audit's own budget of {spent_budget} was spent" if spent_budget else ", searched to its end"
    if lost:
        count = count_text(len(lost), "proved family", "proved families")
        return Judgement("gained", f"{subject} has {count} that the search lacks: {amount}{end}.")
    if spent_budget or shadow.undecided:
        count = count_text(len(shadow.undecided), "family is", "families are")
        unknown = f"; {count} unknown" if shadow.undecided else ""
        return Judgement(
            "undecided", f"{subject} has no proved family yet that the search lacks: {amount}{end}{unknown}."
        )
    return Judgement("nothing gained", f"{subject} has no proved family that the search lacks: {amount}{end}.")


def _amount(nodes: int, shadow: ShadowRun) -> str:
    return f"{count_text(nodes, 'node', 'nodes')} and {count_text(shadow.candidates, 'candidate', 'candidates')}"


def _list(words: Iterable[str]) -> str:
    words = list(words)
    return " and ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else "".join(words)
