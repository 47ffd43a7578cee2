"""The inspector of the search tree: a node, a pruned region with its reason, and all pruning for one reason."""

from __future__ import annotations

from collections import Counter

from prism_explore.events.format import programs_text
from prism_explore.events.kinds import Reason
from prism_explore.events.ledger import THINGS, What
from prism_explore.generate.pruning.rules import RULE_NAMES
from prism_explore.widgets.panels.cards import MAX_LINKS, action, reason_card
from prism_explore.widgets.panels.context import Context, QuestionList
from prism_explore.widgets.panels.event_index import EventIndex
from prism_explore.widgets.panels.questions import cancel_actions, question_cards
from prism_explore.widgets.panels.sections import Action, Inspector, Link
from prism_explore.widgets.views.marks import PRUNED_KINDS

REGIONS_PER_RULE = 3
"""Number of regions per rule in the audit of a sample."""
LONG_AUDIT_NODES = 10_000
"""Node budget of a longer audit."""


def node_inspector(ref: str, context: Context) -> Inspector | None:
    """A node of the search tree: a partial sGraph."""
    events = context.events
    node = events.nodes.get(ref)
    if node is None:
        return None
    below = context.tree.nodes[ref]
    family = events.family_at.get(ref, "")
    links = [Link(node.parent, f"parent {node.parent}")] if node.parent else []
    links += [Link(family, f"family {family}")] if family else []
    code = _history(node.node, events) + (f"\n  computes {node.expression}" if node.expression else "")
    return Inspector(
        ref,
        f"{ref}: a partial sGraph",
        kind="family" if family else "expanded",
        status="complete" if family else "kept",
        description=(
            "The search added one operator to the parent node and kept the result."
            if node.parent
            else "The search starts here.",
        ),
        details=(
            ("level", node.level),
            ("children", f"{len(below.children):,} kept, {len(below.pruned):,} pruned"),
        ),
        code=code,
        links=tuple(links),
    )


def _history(node: str, events: EventIndex) -> str:
    """The operators that were added from the root to a node, one per line."""
    added: list[str] = []
    while node in events.nodes and len(added) < len(events.nodes):  # a damaged file can have a circle
        event = events.nodes[node]
        added.append(f"{'+' if event.parent else ' '} {event.operator}")
        node = event.parent
    return "\n".join(reversed(added))


def region_inspector(ref: str, context: Context) -> Inspector | None:
    """A pruned region: the operator that was not added, and the reason."""
    events, questions = context.events, context.search.questions
    region = events.regions.get(ref)
    if region is None:
        return None
    programs = f"{programs_text(region.stood_for)} program{'' if region.stood_for == 1 else 's'}"
    return Inspector(
        ref,
        f"{ref}: a pruned subtree",
        kind=PRUNED_KINDS[region.reason.soundness],
        status="pruned",
        description=(f"The search did not add this operator: {region.reason.sentence.rstrip('.')}.",),
        details=(("level", region.level), ("size", f"{programs} ({region.counted})")),
        code="\n".join(filter(None, (_history(region.parent, events), f"✂ {region.operator}"))),
        cards=(reason_card(region.reason), *question_cards(ref, questions)),
        actions=_region_actions(ref, region.reason, questions),
        links=(Link(region.parent, f"parent {region.parent}"),) if region.parent else (),
    )


def _region_actions(ref: str, reason: Reason, questions: QuestionList) -> tuple[Action, ...]:
    """The buttons for questions about a region."""
    if "audit" not in questions.allowed:
        return ()
    about = questions.about(ref)
    is_open = any(q.is_open for q in about)
    actions = [action(f"Audit {ref}", "audit", {"id": ref}, not is_open)]
    if any(q.kind == "audit" and q.state == "answered" for q in about):
        actions.append(action("Audit with more nodes", "audit", {"id": ref, "nodes": LONG_AUDIT_NODES}, not is_open))
    if reason.rule in RULE_NAMES:
        actions.append(action(f"What if {reason.rule} were off", "what_if", {"rules_off": (reason.rule,)}, True))
    return (*actions, *cancel_actions(about))


def reason_inspector(ref: str, context: Context) -> Inspector | None:
    """A pruning reason: everything that was pruned with this code."""
    events = context.events
    rows = [c for c in context.ledger.prune_counts if c.code == ref]
    if not rows:
        return None
    regions, maps = events.regions_by_code.first(ref, MAX_LINKS), events.maps_by_code.first(ref, 1)
    bounded = [b for b in events.bounded.values() if b.reason.code == ref]
    dominated = [f.dominated for f in context.ledger.families if f.dominated and f.dominated.reason.code == ref]
    reasons = [r.reason for r in (*regions, *maps, *bounded, *dominated)]
    counts = Counter[What]()
    for row in rows:
        counts[row.what] += row.count
    linked = (
        f" {len(regions)} of its {counts['region']:,} subtrees are linked." if len(regions) < counts["region"] else ""
    )
    audit = action("Audit a sample of each rule", "audit", {"sample": REGIONS_PER_RULE}, True)
    can_audit = "audit" in context.search.questions.allowed and regions
    return Inspector(
        ref,
        ref,
        kind=PRUNED_KINDS[rows[0].soundness],
        status=", ".join(f"{n:,} {THINGS[what]}" for what in THINGS if (n := counts[what])),
        description=(f"Everything that was pruned for this reason.{linked}",),
        details=tuple((f"by {c.rule}", f"{c.count:,} {c.things}") for c in rows),
        cards=(reason_card(reasons[0], f"{ref}, for example"),) if reasons else (),
        actions=(audit,) if can_audit else (),
        links=tuple(Link(r.region, r.region) for r in regions),
    )
