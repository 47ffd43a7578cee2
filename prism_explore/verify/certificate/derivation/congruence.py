"""Congruence closure with explanations: the steps that a derivation needs.

Input is the log of a term graph; output is the steps on a path from one side to the other. The log has more steps than
needed, because all changes of terms are recorded.

Source: Nieuwenhuis and Oliveras, Fast congruence closure and extensions, 2007 (the proof forest).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from prism_explore.verify.certificate.derivation.term_graph import Id, Node, Step

Reason: TypeAlias = Step | None
"""The step that unites two terms; None where they are equal by congruence."""


class Closure:
    """Classes of equal terms, with a proof forest."""

    def __init__(self, nodes: Sequence[Node], terms: Iterable[Id]) -> None:
        self._nodes = nodes
        self._leader: dict[Id, Id] = {}
        self._members: dict[Id, list[Id]] = {}
        self._users: dict[Id, list[Id]] = {}
        self._seen: dict[tuple[str, str, tuple[Id, ...]], Id] = {}
        self._why: dict[Id, tuple[Id, Reason]] = {}
        pending = list(terms)
        reached: set[Id] = set()
        while pending:
            e = pending.pop()
            if e not in reached:
                reached.add(e)
                pending += nodes[e].arguments
        for e in sorted(reached):
            self._leader[e] = e
            self._members[e] = [e]
            self._users[e] = []
        for e in sorted(reached):
            node = nodes[e]
            for x in set(node.arguments):
                self._users[x].append(e)
            self._seen[node.op, node.label, node.arguments] = e

    def __len__(self) -> int:
        """Number of terms."""
        return len(self._leader)

    def same(self, a: Id, b: Id) -> bool:
        """Whether two terms are in one class."""
        return self._leader[a] == self._leader[b]

    def contains(self, e: Id) -> bool:
        """Whether the closure contains a term."""
        return e in self._leader

    def members(self, e: Id) -> list[Id]:
        """All terms of the class of a term."""
        return self._members[self._leader[e]]

    def with_operator(self, op: str) -> list[Id]:
        """The terms with an operator."""
        return [e for e in self._leader if self._nodes[e].op == op]

    def find(self, op: str, label: str, inside: Sequence[Id]) -> Id | None:
        """A term with this operator whose arguments are equal to these; None where there is none."""
        return self._seen.get((op, label, tuple(self._leader[i] for i in inside)))

    def add(self, e: Id) -> None:
        """Add a term and its subterms, and unite it with a congruent term, if there is one."""
        if e in self._leader:
            return
        node = self._nodes[e]
        for x in node.arguments:
            self.add(x)
        self._leader[e], self._members[e], self._users[e] = e, [e], []
        for x in set(node.arguments):
            self._users[self._leader[x]].append(e)
        other = self._seen.setdefault((node.op, node.label, tuple(self._leader[x] for x in node.arguments)), e)
        if other != e:
            self.unite(e, other, None)

    def unite(self, a: Id, b: Id, reason: Reason) -> None:
        """Unite two terms, and by congruence the terms over them."""
        pending: list[tuple[Id, Id, Reason]] = [(a, b, reason)]
        while pending:
            a, b, reason = pending.pop()
            x, y = self._leader[a], self._leader[b]
            if x == y:
                continue
            if len(self._members[x]) > len(self._members[y]):
                a, b, x, y = b, a, y, x
            self._make_root(a)
            self._why[a] = (b, reason)
            for e in self._members[x]:
                self._leader[e] = y
            self._members[y] += self._members.pop(x)
            for user in self._users[x]:
                node = self._nodes[user]
                key = (node.op, node.label, tuple(self._leader[i] for i in node.arguments))
                other = self._seen.setdefault(key, user)
                if self._leader[other] != self._leader[user]:
                    pending.append((user, other, None))
            self._users[y] += self._users.pop(x)

    def _make_root(self, e: Id) -> None:
        """Make a term the root of its tree in the proof forest."""
        path: list[tuple[Id, Id, Reason]] = []
        at = e
        while at in self._why:
            above, reason = self._why[at]
            path.append((at, above, reason))
            at = above
        for below, above, reason in path:
            self._why[above] = (below, reason)
        self._why.pop(e, None)

    def explain(self, a: Id, b: Id) -> list[Step]:
        """Steps that make two terms equal."""
        found: dict[Step, None] = {}
        pending, seen = [(a, b)], set[tuple[Id, Id]]()
        while pending:
            a, b = pending.pop()
            if a == b or (a, b) in seen:
                continue
            seen.add((a, b))
            for e, parent, reason in self.path(a, b):
                if reason is not None:
                    found.setdefault(reason)
                else:
                    pending += zip(self._nodes[e].arguments, self._nodes[parent].arguments, strict=True)
        return list(found)

    def path(self, a: Id, b: Id) -> list[tuple[Id, Id, Reason]]:
        """The path from one term of a class to another: each term, the next one, and the reason."""
        up, down = self._path(a), self._path(b)
        reached = {e: n for n, (e, _, _) in enumerate(up)}
        first_common = next(n for n, (e, _, _) in enumerate(down) if e in reached)
        back = [(above, below, reason) for below, above, reason in reversed(down[:first_common])]
        return [*up[: reached[down[first_common][0]]], *back]

    def _path(self, e: Id) -> list[tuple[Id, Id, Reason]]:
        """The path from a term to the root of its tree: each term, the next one, and the reason."""
        path: list[tuple[Id, Id, Reason]] = []
        while e in self._why:
            above, reason = self._why[e]
            path.append((e, above, reason))
            e = above
        return [*path, (e, e, None)]


def needed_steps(nodes: Sequence[Node], steps: Sequence[Step], left: Id, right: Id) -> list[Step] | None:
    """The steps, in order, that prove left = right; None where the steps do not prove it."""
    closure = Closure(nodes, [left, right, *(e for s in steps for e in (s.left, s.right))])
    for s in steps:
        closure.unite(s.left, s.right, s)
        if closure.same(left, right):
            break
    if not closure.same(left, right):
        return None
    used = set(closure.explain(left, right))
    return [s for s in steps if s in used]
