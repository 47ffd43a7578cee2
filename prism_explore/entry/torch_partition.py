# pyright: basic
# Most values are objects of torch, which pyright types only in part.
"""Partition of a torch graph into regions by cost.

Regions grow over all nodes that the frontend translates and are cut where a cut saves time. For each node, some sets of
nodes that end in it are kept, the cheapest ones (the *cuts* of technology mapping; priority cuts: Mishchenko et al.,
2007). The cost of a node is that of its cheapest set and a share of the costs of the set's inputs, each divided by the
number of its readers. From the results of the graph backwards, the cheapest set of each needed node becomes a region. A
node that two regions need can be computed in both, which is how a norm is fused into each of the products that read it.

The cost of a set is a measured time if an equal region was timed before. Otherwise it is modelled: the roofline bound
of its traffic and arithmetic, the cost of a call, and what is computed again:

* a product whose columns another product or a reduction in the set sums over: blocks cannot share its columns, so each
  block of rows reads its weights, unless they fit into a core's cache, and there are no more blocks than rows;
* a product that is read through several slices, as rotary embeddings do: each of them computes it;
* what is computed before a product: each tile of the product's columns computes it.

Integers and masks that are computed of bytes are in the region of whatever reads them as numbers, as views are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from math import prod
from typing import Any

from prism_explore.entry.torch_autocast import ENTER, EXIT, has_named_casts, is_casting
from prism_explore.entry.torch_nodes import (
    BYTES,
    CALLS,
    Translation,
    bytes_of,
    called_name,
    elements_of,
    has_side_effect,
    is_float,
    is_view_of_torch,
    sizes_of,
    translation_of,
    unpacked_before,
    value_of,
)
from prism_explore.entry.torch_regions import Region
from prism_explore.ir.tensors import dtype_name
from prism_explore.pipeline.search_space import LARGEST_OPS
from prism_explore.support.plain_data import PlainData
from prism_explore.targets import Target

MOST_NODES = 24
"""Most computing nodes of a region."""
KEPT = 8
"""Sets of nodes kept per node."""
CALL_S = 1.5e-5
"""Modelled cost of a call of a kernel from Python, on top of its launch."""
ROWS_PER_BLOCK = 8
"""Rows that a block of a fused chain of products is assumed to compute."""
COLUMNS_PER_BLOCK = 64
"""Columns of a product that a block is assumed to compute."""
MOST_REPEATED = 1.25
"""A region whose traffic or arithmetic is modelled as more than this many times the least is not considered: where
products are chained at the cost of recomputation, searches are long and kernels were slower than the model says."""
REPEATED_WEIGHT = 2.0
"""How often repeated traffic or arithmetic counts in the cost of a region, for the same reason. At 1, BERT's products
are chained with the norms after them to save a call: it ran 10 % slower, and was built in twice the time."""
LEAST_SHARE = 0.01
"""A region is not searched if its nodes and those of all equal regions, for which one search is made, take less than
this share of the modelled time of all regions when torch runs them; except as `MOST_LEFT` says."""
MOST_LEFT = 0.1
"""Such regions are searched too, those with the most time per search first, while they have more than this share of the
nodes that regions can contain: many small regions together are not small."""
LEAST_STEPS = 3
"""The fewest regions that are equal but for the parts of tensors that they read, for which one search is made. Views of
these parts then stay in torch, which takes a microsecond each."""
PASSES = 3
"""How often readers are counted again from the last partition."""
MOST_CUTS = 8
"""How often a graph is cut again because a chosen region cannot be searched."""
MOVE_STEP = 0.5
"""How much more each rearrangement, such as a view, is assumed to count among the operators of a kernel, each time that
a chosen region with it cannot be searched: whether it counts shows only when a region is traced."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a region."""

    seconds: float
    is_measured: bool = False
    repeated: float = 1.0
    """Modelled traffic and arithmetic relative to those without repetition."""
    obstacle: str = ""
    """Why no kernel can compute the region; its nodes can still be a part of larger regions."""


@dataclass(frozen=True, slots=True)
class Partition:
    """How a graph is cut."""

    regions: tuple[Region, ...]
    """In graph order."""
    costs: tuple[Cost, ...]
    """Of each region."""
    left: Mapping[Any, str]
    """Per computing node outside of all regions, why it stays in torch."""
    computing: frozenset[Any]
    """All nodes that compute floats: those that do not only rearrange."""

    @property
    def covered(self) -> frozenset[Any]:
        """The computing nodes inside of regions."""
        return self.computing - frozenset(self.left)


def partition(graph: Any, target: Target, measured: Mapping[str, float], refused: Callable[[Region], str]) -> Partition:
    """Cut a torch graph into regions.

    Args:
        graph: torch's, with an example value at each node.
        target: the machine of the cost model.
        measured: times of earlier regions in seconds, by `Region.text`.
        refused: why no kernel can compute a region, or an empty text. It is called for chosen regions; where it gives a
            reason, the graph is cut again.
    """
    return _Partitioner(graph, target, measured, refused).run()


def partition_to_plain(cut: Partition, graph: Any) -> dict[str, Any]:
    """A partition as JSON-ready data, with nodes as their numbers.

    Args:
        cut: of the graph.
        graph: torch's.
    """
    numbers = {n: k for k, n in enumerate(graph.nodes)}
    return {
        "regions": [
            [[numbers[n] for n in r.nodes], asdict(cost)] for r, cost in zip(cut.regions, cut.costs, strict=True)
        ],
        "left": [[numbers[n], why] for n, why in cut.left.items()],
        "computing": sorted(numbers[n] for n in cut.computing),
    }


def partition_from_plain(plain: Any, graph: Any) -> Partition:
    """The inverse of `partition_to_plain`.

    Args:
        plain: what it returned for a graph with the same text.
        graph: torch's.

    Raises:
        KeyError, IndexError, TypeError, ValueError: the data is damaged.
    """
    nodes = {n: node for n, node in enumerate(graph.nodes) if node.op in CALLS}
    data = PlainData()
    return Partition(
        tuple(Region.of(frozenset(nodes[n] for n in region)) for region, _ in plain["regions"]),
        tuple(data.read(Cost, cost) for _, cost in plain["regions"]),
        {nodes[n]: str(why) for n, why in plain["left"]},
        frozenset(nodes[n] for n in plain["computing"]),
    )


@dataclass(frozen=True, slots=True)
class _Figures:
    """A node of the graph with the sizes of its tensor, computed once."""

    translation: Translation
    elements: int = 0
    bytes: int = 0
    columns: int = 1
    """The size of its last dim."""
    matrix: int = 1
    """The elements of its last two dims."""
    read: tuple[Any, ...] = ()
    """The nodes that it reads."""


def _figures(node: Any) -> _Figures:
    is_call = node.op in CALLS
    translation = translation_of(node) if is_call else Translation("it is no call of a function")
    sizes = sizes_of(node) if elements_of(node) else ()
    last = (1, 1, *sizes)[-2:]
    read = tuple(node.all_input_nodes)
    return _Figures(translation, elements_of(node), bytes_of(node), last[-1], prod(last), read)


_AUTOCAST = {ENTER: 1, EXIT: -1}


def _grows(node: Any) -> str:
    """Why a region cannot contain a tensor that is put together along a size that varies, such as a growing cache.

    Its kernel would be for one size each, while one that reads the tensor may serve several (`ir/analysis/padding.py`).
    """
    if called_name(node) not in ("cat", "concat", "concatenate") or not is_float(node):
        return ""
    along = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim", 0)
    varies = isinstance(along, int) and hasattr(value_of(node).shape[along], "node")
    return "it grows along a size that varies from call to call" if varies else ""


class _Partitioner:
    def __init__(
        self, graph: Any, target: Target, measured: Mapping[str, float], refused: Callable[[Region], str]
    ) -> None:
        self.target, self.measured, self.refused = target, measured, refused
        self.found = {n: _figures(n) for n in graph.nodes}
        self.epoch: dict[Any, int] = {}
        now, casting = 0, int(is_casting())
        for node in graph.nodes:
            now += has_side_effect(node)
            self.epoch[node] = now
            casting += _AUTOCAST.get(called_name(node), 0)
            if casting and not has_named_casts(node) and node.op in CALLS:
                self.found[node] = replace(self.found[node], translation=Translation("it runs under autocast"))
            if grows := _grows(node):
                self.found[node] = replace(self.found[node], translation=Translation(grows))
        unpacking = [n for n, f in self.found.items() if f.translation.reads_unpacked and not f.translation.obstacle]
        for words in {b for n in unpacking for b in unpacked_before(n) if self.found[b].translation.obstacle}:
            # Words of several numbers are in a region only together with what reads a few of their bits.
            as_view = Translation(operators=0, is_view=True, reads_unpacked=True)
            self.found[words] = replace(self.found[words], translation=as_view)
        self.inside = {n for n, f in self.found.items() if not f.translation.obstacle}
        self.unpacked = {n for n in self.inside if not is_float(n) and not isinstance(value_of(n), tuple | list)}
        """Integers and masks that are computed of bytes."""
        self.views = {n for n in self.inside if _only_moves(n, self.found[n].translation)} | self.unpacked
        self.of_bytes = self._of_bytes(graph)
        cells = [n for n in graph.nodes if n in self.inside and n not in self.views and is_float(n)]
        self.cells = dict.fromkeys(cells)
        """The nodes that compute and that regions can contain, in graph order."""
        self.leaves: dict[frozenset[Any], list[Any]] = {}
        """What `_leaves` found."""
        self.sources = {n: self._sources(n) for n in cells}
        self.costs: dict[frozenset[Any], Cost] = {}
        self.ending: dict[Any, list[frozenset[Any]]] = defaultdict(list)
        """The sets whose cost was asked for, by their last node."""
        self.refusals: dict[frozenset[Any], str] = {}
        """Chosen sets that no kernel can compute, and why."""
        self.accepted: dict[Any, dict[frozenset[Any], None]] = defaultdict(dict)
        """Chosen sets that a kernel can compute, by their last node."""
        self.moves: dict[Any, float] = defaultdict(float)
        """The operators that the rearrangements of a node are assumed to be in other sets; none at first."""

    def run(self) -> Partition:
        chosen, cores = self._cut()
        for _ in range(MOST_CUTS):
            if not self._refuse(cores):
                break
            chosen, cores = self._cut()
        calls = [n for n in self.found if n.op in CALLS]
        moving = {n for n in calls if n in self.views or is_view_of_torch(n)}
        computing = {n for n in calls if is_float(n) and n not in moving and self.found[n].elements}
        covered = {n for core in cores for n in core}
        left = {n: self._why(n, chosen) for n in sorted(computing - covered)}
        return Partition(tuple(map(Region.of, cores)), tuple(map(self._cost, cores)), left, frozenset(computing))

    def _cut(self) -> tuple[dict[Any, frozenset[Any]], list[frozenset[Any]]]:
        """The chosen sets by their last node, and those that are worth a search, in graph order."""
        readers = {n: float(max(1, len(self._readers(n)))) for n in self.cells}
        chosen: dict[Any, frozenset[Any]] = {}
        for _ in range(PASSES):
            chosen = self._split(self._cover(readers))
            used: dict[Any, float] = defaultdict(float)
            for core in chosen.values():
                for leaf in self._leaves(core):
                    used[leaf] += 1.0
            readers = {n: max(1.0, (readers[n] + 2 * used[n]) / 3) for n in self.cells}
        cores = self._of_steps(chosen)
        searched = self._worth_a_search(cores, sum(self._cost(core).seconds for core in chosen.values()))
        return chosen, [cores[root] for root in sorted(searched)]

    def _worth_a_search(self, cores: Mapping[Any, frozenset[Any]], total_s: float) -> list[Any]:
        """The last nodes of the sets that are searched; see `LEAST_SHARE` and `MOST_LEFT`."""
        equal: dict[str, list[Any]] = defaultdict(list)
        for root, core in cores.items():
            equal[Region.of(core).text].append(root)
        torch_s = {text: sum(self._torch_s(*cores[root]) for root in roots) for text, roots in equal.items()}
        nodes = frozenset[Any]().union(*cores.values()) - self.views
        found: list[Any] = []
        covered: set[Any] = set()
        for text in sorted(equal, key=torch_s.__getitem__, reverse=True):
            if torch_s[text] >= LEAST_SHARE * total_s or len(nodes - covered) > MOST_LEFT * len(nodes):
                found += equal[text]
                covered.update(*(cores[root] for root in equal[text]))
        return found

    def _of_steps(self, chosen: Mapping[Any, frozenset[Any]]) -> dict[Any, frozenset[Any]]:
        """The chosen sets; those of steps of a loop, which read other parts of tensors, as sets that read the parts.

        One search is then made for all steps, of which each would otherwise be a program of its own.
        """
        without = {root: core.difference(self._parts_read(core)) for root, core in chosen.items()}
        texts = {root: Region.of(core).text for root, core in without.items() if core != chosen[root]}
        steps: dict[str, set[str]] = defaultdict(set)
        for root, text in texts.items():
            steps[text].add(Region.of(chosen[root]).text)
        return {
            root: without[root] if len(steps[texts.get(root, "")]) >= LEAST_STEPS else core
            for root, core in chosen.items()
        }

    def _parts_read(self, core: frozenset[Any]) -> Iterator[Any]:
        """The views in a set of a part of a tensor outside of it."""
        for node in core & self.views:
            if not self.found[node].translation.is_view:
                continue
            read = [i for i in node.all_input_nodes if self.found[i].elements]
            if core.isdisjoint(read) and all(self.found[i].elements > self.found[node].elements for i in read):
                yield node

    def _refuse(self, cores: Collection[frozenset[Any]]) -> bool:
        """Note which sets no kernel can compute; sets that contain one of them are assumed to be no better."""
        new: dict[frozenset[Any], str] = {}
        for core in cores:
            region = Region.of(core)
            if why := self.refused(region):
                new[core] = why
            else:
                self.accepted[region.result][core] = None
        self.refusals |= new
        for node in (n for core in new for n in core):
            self.moves[node] += MOVE_STEP * self.found[node].translation.moves
        for core, cost in self.costs.items():
            if not cost.obstacle and (why := _found_within(core, new)):
                self.costs[core] = replace(cost, obstacle=why)
        return bool(new)

    def _of_bytes(self, graph: Any) -> set[Any]:
        """Bytes, and what is computed of nothing else: as a part of a kernel, it does not count against its limit."""
        found: set[Any] = set()
        for node in graph.nodes:
            own = self.found[node].translation
            is_computed = node in self.inside and not own.reduces and not own.products and not own.is_masked
            read = [i for i in node.all_input_nodes if elements_of(i) or isinstance(value_of(i), tuple | list)]
            is_byte = dtype_name(getattr(value_of(node), "dtype", "")) in BYTES
            if is_byte or (is_computed and read and all(i in found for i in read)):
                found.add(node)
        return found

    # ------------------------------------------------------------ sets of nodes
    def _cover(self, readers: Mapping[Any, float]) -> dict[Any, frozenset[Any]]:
        """The chosen set of each node that something outside of its set reads."""
        flow: dict[Any, float] = {}
        kept: dict[Any, list[frozenset[Any]]] = {}

        def total_s(core: frozenset[Any]) -> float:
            return self._cost(core).seconds + sum(flow[leaf] / readers[leaf] for leaf in self._leaves(core))

        for node in self.cells:
            ranked = sorted(self._grown(node, kept, total_s), key=total_s)
            legal = [core for core in ranked if not self._cost(core).obstacle]
            kept[node] = [*legal[:1], *(c for c in ranked if c is not (legal or [None])[0])][:KEPT]
            flow[node] = total_s(legal[0]) if legal else self._torch_s(node)
        return self._needed({n: sets[0] for n, sets in kept.items() if not self._cost(sets[0]).obstacle})

    def _split(self, chosen: Mapping[Any, frozenset[Any]]) -> dict[Any, frozenset[Any]]:
        """The chosen sets, each in parts where these together cost less; what another set computes is not repeated.

        What several readers share makes `_cover` favour large sets: it knows how many read a tensor from the last
        partition, in which one set may contain them all.
        """
        found: dict[Any, frozenset[Any]] = {}
        for root, core in chosen.items():
            inner = core - (chosen.keys() - {root})
            least: dict[Any, tuple[float, frozenset[Any]]] = {}
            for node in (n for n in self.cells if n in inner):
                parts = [p for p in self.ending[node] if p <= core and not self._cost(p).obstacle]
                read = {p: self._read_of(p, inner) for p in parts}
                costs = [
                    (self._cost(p).seconds + sum(least[i][0] for i in read[p]), p)
                    for p in parts
                    if least.keys() >= set(read[p])
                ]
                if costs:
                    least[node] = min(costs, key=lambda cost: cost[0])
            own, open_nodes = dict[Any, frozenset[Any]](), [root]
            while open_nodes:
                node = open_nodes.pop()
                own[node] = least[node][1]
                open_nodes += self._read_of(own[node], inner)
            is_less = sum(self._cost(part).seconds for part in own.values()) < self._cost(core).seconds
            found |= own if is_less else {root: core}
        return self._needed(found)

    def _read_of(self, part: frozenset[Any], inner: Collection[Any]) -> list[Any]:
        """The nodes that a part of a set reads of those that other parts have to compute."""
        return [n for n in self._leaves(part) if n in inner]

    def _needed(self, chosen: Mapping[Any, frozenset[Any]]) -> dict[Any, frozenset[Any]]:
        """The chosen sets whose results something reads."""
        found: dict[Any, frozenset[Any]] = {}
        needed = {n for n in self.cells if self._is_read_outside(n)}
        for node in reversed(self.cells):
            if node in needed and node in chosen:
                found[node] = chosen[node]
                needed.update(self._leaves(chosen[node]))
            elif node in needed:
                needed.update(self.sources[node])
        return found

    def _grown(
        self, node: Any, kept: Mapping[Any, list[frozenset[Any]]], total_s: Callable[[frozenset[Any]], float]
    ) -> list[frozenset[Any]]:
        """The node with the views before it, alone and together with sets of the nodes that it reads."""
        alone = self._with_views(node)
        partial: dict[frozenset[Any], None] = {alone: None, **self.accepted[node]}
        for source in self.sources[node]:
            if self.epoch[source] != self.epoch[node]:
                continue
            for core in list(partial):
                for more in kept[source]:
                    if len((grown := core | more) - self.views) <= MOST_NODES and self._fits(grown):
                        partial[grown] = None
            if len(partial) > 2 * KEPT:
                partial = dict.fromkeys([alone, *sorted(partial, key=total_s)[: 2 * KEPT]])
        return list(partial)

    def _fits(self, core: frozenset[Any]) -> bool:
        """Whether one kernel may hold a set: by an estimate of `fused_ops`, whose exact figure needs a trace.

        It is a lower bound at first, and more when chosen sets were refused; see `MOVE_STEP`.
        """
        loads = {i for n in core for i in self.found[n].read if i not in core and self.found[i].elements}
        computing = [self.found[n].translation for n in core]
        means = sum(t.reduces and not t.products for t in computing)  # √ of the mean of squares is one operator
        moved = sum(self.moves[n] for n in core & self.moves.keys())
        operators = sum(self.found[n].translation.operators for n in core if n not in self.of_bytes)
        return len(loads) + operators - 2 * means + moved <= LARGEST_OPS

    def _with_views(self, node: Any) -> frozenset[Any]:
        found, open_nodes = {node}, [node]
        while open_nodes:
            reader = open_nodes.pop()
            for source in reader.all_input_nodes:
                if (
                    (self._is_absorbed(source, reader) or self._is_taken_apart(source))
                    and self.epoch[source] == self.epoch[node]
                    and source not in found
                ):
                    found.add(source)
                    open_nodes.append(source)
        return frozenset(found)

    def _is_absorbed(self, node: Any, reader: Any) -> bool:
        """Whether a node is in the region of what reads it: a view, but none of several, of which others are unread."""
        if node in self.unpacked:
            return self.found[reader].translation.reads_unpacked
        return node in self.views and not any(isinstance(value_of(i), tuple | list) for i in node.all_input_nodes)

    def _is_taken_apart(self, node: Any) -> bool:
        """Whether a node computes several results at once: it is in the region of each of them."""
        return node in self.inside and node not in self.views and isinstance(value_of(node), tuple | list)

    def _only_passes(self, node: Any) -> bool:
        """Whether a node's readers read its input: a view, or several views at once."""
        return node in self.views or (node in self.inside and isinstance(value_of(node), tuple | list))

    def _sources(self, node: Any) -> list[Any]:
        """The computing nodes that a node reads, directly or through views."""
        return self._leaves(self._with_views(node))

    def _leaves(self, core: frozenset[Any]) -> list[Any]:
        """The computing nodes that a set reads and does not contain, also through views of an earlier state."""
        if core not in self.leaves:
            self.leaves[core] = self._new_leaves(core)
        return self.leaves[core]

    def _new_leaves(self, core: frozenset[Any]) -> list[Any]:
        found: dict[Any, None] = {}
        open_nodes = [i for n in core for i in n.all_input_nodes if i not in core]
        while open_nodes:
            node = open_nodes.pop()
            if node in self.cells:
                found[node] = None
            elif self._only_passes(node):
                open_nodes += node.all_input_nodes
        return list(found)

    def _readers(self, node: Any) -> set[Any]:
        found: set[Any] = set()
        open_nodes = list(node.users)
        while open_nodes:
            user = open_nodes.pop()
            if self._only_passes(user):
                open_nodes += user.users
            else:
                found.add(user)
        return found

    def _is_read_outside(self, node: Any) -> bool:
        """Whether something that no region can contain reads a node; a view that nothing else reads is torch's."""
        return any(r not in self.inside or self.epoch[r] != self.epoch[node] for r in self._readers(node))

    # ------------------------------------------------------------ cost
    def _cost(self, core: frozenset[Any]) -> Cost:
        if core not in self.costs:
            self.costs[core] = self._new_cost(core)
        return self.costs[core]

    def _new_cost(self, core: frozenset[Any]) -> Cost:
        region = Region.of(core)
        self.ending[region.result].append(core)
        obstacle = region.obstacle or _found_within(core, self.refusals)
        if self.found[region.result].translation.is_masked:
            obstacle = obstacle or "its result may be infinite where a mask covers it; kernels store finite numbers"
        if self.measured and (seconds := self.measured.get(region.text)) is not None:
            return Cost(seconds, True, obstacle=obstacle)
        seconds, least = self._modelled(region)
        repeated = seconds / least if least else 1.0
        if repeated > MOST_REPEATED:
            obstacle = obstacle or f"it would compute {repeated:.1f} times as much as needed"
        weighted = least + REPEATED_WEIGHT * (seconds - least)
        return Cost(weighted + CALL_S + self.target.launch_s, False, repeated, obstacle)

    def _modelled(self, region: Region) -> tuple[float, float]:
        """Seconds with repetition and at least, without the call."""
        found = self.found
        traffic = sum(_bytes_read(i, region, found) for i in region.tensors) + found[region.result].bytes
        flops = sum(found[n].translation.flops for n in region.nodes)
        peak = self._peak(region)
        least = max(traffic / self.target.dram_bytes_per_s, flops / peak)
        extra_bytes = extra_flops = 0.0
        cores: int = self.target.cores
        times, tiles = _times_read(region, found), _tiles_of_readers(region, found)
        rows = _rows_of_sums(region, found)
        inputs = set(region.inputs)
        for node in region.nodes:
            own = found[node]
            if not own.translation.products:
                extra_flops += (tiles[node] - 1.0) * own.translation.flops
                continue
            again = times[node] - 1.0
            extra_flops += again * own.translation.flops
            if node in rows:
                blocks: int = max(1, -(-rows[node] // ROWS_PER_BLOCK))
                cores = min(cores, blocks)
                blocks = min(blocks, -(-own.elements // own.columns // ROWS_PER_BLOCK))
                extra_bytes += sum(self._read_again(found[i], blocks) for i in own.read[1:] if i in inputs)
            extra_bytes += again * sum(found[i].bytes for i in own.read if i in inputs)
        repeated = max((traffic + extra_bytes) / self.target.dram_bytes_per_s, (flops + extra_flops) / peak)
        return repeated * self.target.cores / cores, least

    def _read_again(self, operand: _Figures, blocks: int) -> float:
        """Bytes of a right operand that blocks of rows read again; what fits into a core's cache is read once."""
        batch = max(1, operand.elements // operand.matrix)
        small = operand.bytes / batch <= self.target.shared_memory_bytes
        return 0.0 if small else max(0.0, blocks / batch - 1.0) * operand.bytes

    def _peak(self, region: Region) -> float:
        is_half = all(dtype_name(value_of(t).dtype) != "float32" for t in region.tensors if is_float(t))
        return self.target.peak("bf16" if is_half else "f32")

    def _torch_s(self, *nodes: Any) -> float:
        """Modelled time of nodes that run in torch, operator by operator."""
        computing = [self.found[n] for n in nodes if n not in self.views and self.found[n].elements]
        moved = sum(f.bytes + sum(self.found[i].bytes for i in f.read) for f in computing)
        flops = sum(f.translation.flops for f in computing)
        calls = sum(max(1, f.translation.operators) for f in computing)
        return max(moved / self.target.dram_bytes_per_s, flops / self.target.peak("f32")) + CALL_S * calls

    def _why(self, node: Any, chosen: Mapping[Any, frozenset[Any]]) -> str:
        """Why a node is in no region."""
        if obstacle := self.found[node].translation.obstacle:
            return obstacle
        if any(node in core for core in chosen.values()):
            return f"its region, with all equal ones, takes less than {LEAST_SHARE:.0%} of the modelled time"
        alone = self._cost(self._with_views(node)).obstacle
        return alone or "nothing that is computed needs it"


def _bytes_read(tensor: Any, region: Region, found: Mapping[Any, _Figures]) -> int:
    """The bytes of a tensor that a region reads: of a table, those of the elements that are looked up."""
    readers = [found[n] for n in region.nodes if tensor in found[n].read]
    looked_up = sum(f.bytes for f in readers) if all(f.translation.looks_up for f in readers) else found[tensor].bytes
    return min(found[tensor].bytes, looked_up)


def _found_within(core: frozenset[Any], refusals: Mapping[frozenset[Any], str]) -> str:
    """Why a set is refused; empty if no refused set is a part of it."""
    return next((why for part, why in refusals.items() if part <= core), "")


def _only_moves(node: Any, translation: Translation) -> bool:
    """Whether a node rearranges elements and keeps their dtype."""
    kept = all(
        value_of(i).dtype == value_of(node).dtype for i in node.all_input_nodes if is_float(i) and is_float(node)
    )
    return translation.is_view and kept


def _times_read(region: Region, found: Mapping[Any, _Figures]) -> dict[Any, float]:
    """Per node, how often its elements are computed: the sum over the different slices through which it is read."""
    paths: dict[Any, dict[tuple[Any, ...], float]] = {n: {} for n in region.nodes}
    paths[region.result][()] = 1.0
    for node in reversed(region.nodes):
        own = found[node]
        for source in own.read:
            if source not in paths:
                continue
            part = own.elements / max(1, found[source].elements)
            is_part = own.translation.is_view and part < 1.0
            for path, share in paths[node].items():
                longer = (*path, node) if is_part else path
                paths[source][longer] = max(paths[source].get(longer, 0.0), share * part if is_part else share)
    return {n: max(1.0, sum(shares.values())) for n, shares in paths.items()}


def _tiles_of_readers(region: Region, found: Mapping[Any, _Figures]) -> dict[Any, float]:
    """Per node, the most tiles of a later product's other free dims: each of them computes an operand again."""
    tiles = dict.fromkeys(region.nodes, 1.0)
    for node in reversed(region.nodes):
        own = found[node]
        for source in own.read:
            if source not in tiles:
                continue
            rows = max(1, found[source].elements // found[source].columns)
            more = own.elements / rows / COLUMNS_PER_BLOCK if own.translation.products else 1.0
            tiles[source] = max(tiles[source], tiles[node], more)
    return tiles


def _rows_of_sums(region: Region, found: Mapping[Any, _Figures]) -> dict[Any, int]:
    """Per node that is part of a chain of sums, the fewest independent rows of such a chain.

    A chain is a product, then another product or a reduction over dims that the first computes.
    """
    made: dict[Any, bool] = {}
    rows: dict[Any, int] = {}
    for node in region.nodes:
        own = found[node]
        read = [i for i in own.read if i in made]
        after_product = any(made[i] for i in read)
        if own.translation.reduces and after_product:
            widest = max((found[i] for i in read), key=lambda f: f.elements)
            rows[node] = widest.elements // widest.columns
        made[node] = own.translation.products > 0 or after_product
    for node in reversed(region.nodes):
        if node in rows:
            for source in found[node].read:
                if made.get(source):
                    rows[source] = min(rows.get(source, rows[node]), rows[node])
    return rows
