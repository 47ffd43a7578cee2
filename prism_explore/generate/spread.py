"""Growth on an executor's workers, with the very facts of growth in one process.

Growth goes from near to far: what strays from the program is put off, and what strays alike makes one level. The
steps that are put off at one block graph are the root of a subtree, and the subtrees of a level do not ask for one
another. So each is grown by some worker, and told here in the order in which this process would have grown them,
under the ids that they would have had. Whether a whole graph is a family that is known already is decided here.

A budget of nodes falls at the same node as without workers: a subtree that may hold that node is grown here. So is one
whose worker died. What a worker learns of values it keeps for the next subtree (`Attempts`); processes learn apart, so
all together they work more than one, and a level of a few subtrees stays here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from functools import lru_cache

from prism_explore.cost.floor import Ceiling
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import NodeExpanded, RegionPruned
from prism_explore.generate.attempts import Attempts
from prism_explore.generate.diary import Diary
from prism_explore.generate.grow import Growth, Put, Whole
from prism_explore.generate.partial import BlockState, Fit, KernelState, Tensor
from prism_explore.generate.prune import GivenUp, Machine
from prism_explore.ir.flow import Flow, FlowRule
from prism_explore.ir.ops import Band, Custom, Input, Load, Op, Result, Store
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.space import Space
from prism_explore.ir.stages import Family, Pieces
from prism_explore.ir.text import parse_program, show

FEWEST = 8
"""A level of fewer subtrees is grown here."""
CHUNKS = 16
"""Into how many calls a level is cut."""
_POLL_S = 0.05


def generate(
    program: TensorProgram,
    space: Space,
    target: Machine,
    journal: Journal,
    over: Callable[[], bool] = lambda: False,
    ceiling: Ceiling | None = None,
    executor: Executor | None = None,
    pieces: Callable[[], Iterator[Pieces | GivenUp | None]] = lambda: iter(()),
) -> Iterator[Family | None]:
    """Every family of the space whose result is the program's by A_eq.

    Args:
        program: what is searched.
        space: which graphs, and how many nodes.
        target: the machine.
        journal: hears of every step and every cut.
        over: whether the time for growing is spent; asked at every node. What is left then is noted.
        ceiling: a time to beat; what cannot grow into a kernel below it is cut.
        executor: whose workers grow what they are given; the facts are the same with any, and without.
        pieces: rows of kernels for the program's parts, asked for behind everything else; None after each step.

    Yields:
        A family when one is whole; None after every other step, so that a caller can pause there.
    """
    if executor is None:
        yield from Growth(program, space, target, journal, over, ceiling).run(pieces)
    else:
        yield from Spread(program, space, target, journal, over, ceiling, executor).run(pieces)


@dataclass(frozen=True, slots=True)
class Branch:
    """What grew in a worker behind steps that were put off; nodes have its own ids."""

    facts: tuple[NodeExpanded | RegionPruned, ...]
    wholes: tuple[tuple[int, Whole], ...]
    """The whole graphs, each with the number of facts before it."""
    later: tuple[Put, ...]
    """What strays once more."""
    void: int

    @property
    def nodes(self) -> int:
        """How many grew."""
        return sum(isinstance(f, NodeExpanded) for f in self.facts)


class Spread(Growth):
    """Growth that has an executor."""

    def __init__(
        self,
        program: TensorProgram,
        space: Space,
        target: Machine,
        journal: Journal,
        over: Callable[[], bool],
        ceiling: Ceiling | None,
        executor: Executor,
    ) -> None:
        super().__init__(program, space, target, journal, over, ceiling)
        self._given = show(program), space, target, ceiling
        self._executor = executor

    def level(self, puts: list[Put]) -> Iterator[Family | None]:
        """The same families and facts, from workers."""
        size = -(-len(puts) // CHUNKS)
        chunks = [puts[n : n + size] for n in range(0, len(puts), size)] if len(puts) >= FEWEST else [puts]
        asked = [self._asked(chunk) for chunk in chunks] if len(puts) >= FEWEST else [None]
        try:
            for chunk, future in zip(chunks, asked, strict=True):
                branches = yield from self._awaited(future)
                for put, branch in zip(chunk, branches or [None for _ in chunk], strict=True):
                    if branch is None or self.diary.nodes - self.before + branch.nodes >= self.nodes or self.spent():
                        yield from self.taken(adopted(self.attempts, put))
                    else:
                        yield from self._told(branch)
        finally:
            for future in asked:
                if future is not None:
                    future.cancel()

    def _asked(self, chunk: list[Put]) -> Future[list[Branch | None]] | None:
        try:
            return self._executor.submit(grown, *self._given, chunk, self.nodes + self.before - self.diary.nodes)
        except RuntimeError:  # an executor that was shut down
            return None

    def _awaited(self, future: Future[list[Branch | None]] | None) -> Generator[None, None, list[Branch | None] | None]:
        """What a worker made; None where there is none, or the time is spent. A caller can pause meanwhile."""
        while future is not None and not self.over():
            try:
                return future.result(_POLL_S)
            except TimeoutError:
                yield None
            except Exception:  # what an executor raises for a broken pool, or a lost connection, is its own affair
                break
        return None

    def _told(self, branch: Branch) -> Iterator[Family | None]:
        """A worker's facts under the ids that are next here."""
        ids: dict[str, str] = {}
        wholes = iter((*branch.wholes, (len(branch.facts) + 1, None)))
        due, whole = next(wholes)
        for count in range(len(branch.facts) + 1):
            while due == count and whole is not None:
                yield self.found(replace(whole, node=ids[whole.node]))
                due, whole = next(wholes)
            if count < len(branch.facts):
                self.diary.retold(branch.facts[count], ids)
                yield None
        self.diary.void += branch.void
        for later in branch.later:
            here = replace(later, state=replace(later.state, id=ids[later.state.id]))
            self.later.setdefault(here.state.strays + 1, []).append(here)


# ---------------------------------------------------------------- in a worker
class _Offshoot(Growth):
    """Growth of one subtree after the other, which leaves to others what is a family."""

    def __init__(self, program: TensorProgram, space: Space, target: Machine, ceiling: Ceiling | None) -> None:
        super().__init__(program, space, target, Journal(), ceiling=ceiling)
        self._facts = Journal()
        self._wholes: list[tuple[int, Whole]] = []

    def branch(self, put: Put, nodes: int) -> Branch | None:
        """What grows behind steps that were put off; None where that takes a budget of nodes."""
        self._facts, self._wholes = Journal(), []
        self.diary, self.nodes = Diary(self._facts, "+"), nodes
        self.later, self.left = {}, {}
        for _ in self.taken(adopted(self.attempts, put)):
            pass
        if self.spent():
            return None
        facts = tuple(e for e in self._facts.events if isinstance(e, NodeExpanded | RegionPruned))
        later = tuple(p for puts in self.later.values() for p in puts)
        return Branch(facts, tuple(self._wholes), later, self.diary.void)

    def found(self, whole: Whole) -> None:
        """Keep a whole graph and its place among the facts."""
        self._wholes.append((len(self._facts), whole))


def grown(
    program: str, space: Space, target: Machine, ceiling: Ceiling | None, puts: Sequence[Put], nodes: int
) -> list[Branch | None]:
    """In a worker: the subtrees behind steps that were put off, each within a budget of nodes."""
    growth = _growth(program, space, target, ceiling, threading.get_ident())
    return [growth.branch(put, nodes) for put in puts]


@lru_cache(16)
def _growth(program: str, space: Space, target: Machine, ceiling: Ceiling | None, thread: int) -> _Offshoot:
    """A worker's growth of a program; threads have one each."""
    return _Offshoot(parse_program(program), space, target, ceiling)


# ---------------------------------------------------------------- numbers are of one process
def adopted(attempts: Attempts, put: Put) -> Put:
    """Steps of another process, with this one's numbers of expressions: each process counts for itself."""
    kernel = _kernel(attempts, put.kernel)
    kept = [replace(k, state=_block(attempts, kernel, k.state)) for k in put.kept]
    return Put(kernel, _block(attempts, kernel, put.state), kept)


def _kernel(attempts: Attempts, state: KernelState) -> KernelState:
    tensors = [
        replace(t, number=own.number, written=own.written)
        for t, own in zip(state.tensors, attempts.inputs, strict=False)
    ]
    for tensor in state.tensors[len(tensors) :]:
        numbers = [(tensors[a].number, tensors[a].written) for a in tensor.node.args]
        op = tensor.node.op
        if isinstance(op, Custom):
            inside: list[tuple[int, int]] = []
            for node in op.block.nodes[: op.block.stores[0]]:
                if isinstance(node.op, Load):
                    inside.append(numbers[node.op.operand])
                else:
                    inside.append(_numbers(attempts, node.op, node.args, inside))
            number, written = inside[op.block.nodes[op.block.stores[0]].args[0]]
        else:
            number, written = _numbers(attempts, op, range(len(numbers)), numbers)
        tensors.append(replace(tensor, number=number, written=written))
    return replace(state, tensors=tuple(tensors))


def _block(attempts: Attempts, kernel: KernelState, state: BlockState) -> BlockState:
    names: dict[int, int] = {}
    tensors: list[Tensor] = []
    for tensor in state.tensors:
        op = tensor.node.op
        if isinstance(op, Load):
            source = kernel.tensors[state.operands[op.operand]]
            number, written = source.number, source.written
        else:
            number, written = _numbers(attempts, op, tensor.node.args, [(t.number, t.written) for t in tensors])
        names[tensor.number] = number
        tensors.append(replace(tensor, number=number, written=written, flows=_renamed(tensor.flows, names)))
    loads = tensors[: len(state.operands)]
    return replace(
        state,
        tensors=tuple(tensors),
        open=tuple(_fit(attempts, tensors, step, names) for step in state.open),
        context=attempts.context(loads, state.choices, state.same),
        outside=tuple(
            replace(t, number=own.number, written=own.written)
            for t, own in zip(state.outside, kernel.tensors, strict=False)
        ),
    )


def _fit(attempts: Attempts, tensors: Sequence[Tensor], step: Fit, names: Mapping[int, int]) -> Fit:
    op = attempts.block_alphabet.letters[step.kind].op
    number, written = _numbers(attempts, op, step.args, [(t.number, t.written) for t in tensors])
    flows = _renamed(step.tensor.flows, {**names, step.tensor.number: number})
    return replace(step, tensor=replace(step.tensor, number=number, written=written, flows=flows))


def _numbers(attempts: Attempts, op: Op, args: Sequence[int], of: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The number of an operator's result, and of what it is as written, by those of tensors."""
    assert not isinstance(op, Input | Band | Custom | Result | Load | Store), "computed by an operator"
    numbers, written = (tuple(of[a][k] for a in args) for k in (0, 1))
    return attempts.expressions.number(op, numbers), attempts.as_written(op, written)


def _renamed(flows: Sequence[Flow | FlowRule], names: Mapping[int, int]) -> tuple[Flow | FlowRule, ...]:
    """The states with running maxima by other names."""
    return tuple(
        replace(f, moves=replace(f.moves, name=names[f.moves.name])) if isinstance(f, Flow) and f.moves else f
        for f in flows
    )
