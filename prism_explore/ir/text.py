"""The textual form of programs and sGraphs: printer and parser.

    sgraph
      x = input f32[b, 4096]
      w = input f32[4096, 4096]
      %2 = custom(x, w) grid[x=gx] loop[i=f]
        %0 = load(0, imap=[-], fmap=1)
        %1 = load(1, imap=[1], fmap=0)
        %2 = matmul(%0, %1)
        %3 = accum(%2)
        %4 = store(%3, omap=[1])
      return %2

`imap=[-, 1]` means that grid dim x partitions nothing and y partitions dim 1; `imap=?` is open. Kernel-level inputs are
referenced by name, other tensors by position. `parse(show(g)) == g` for every graph.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from prism_explore.errors import ParseError
from prism_explore.ir.dims import Dim, dim, shortened
from prism_explore.ir.elementwise import BINARY, UNARY, BinaryFn
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import (
    REDUCE_FNS,
    SCALAR_FNS,
    SCAN_FNS,
    Accumulate,
    AccumulateRescaled,
    Band,
    Binary,
    BlockGraph,
    Concat,
    Custom,
    Expand,
    Input,
    Load,
    Lookup,
    MatMul,
    Node,
    Op,
    ParallelDim,
    Permute,
    Reduce,
    ReduceFn,
    Reshape,
    Result,
    RunningMax,
    Scalar,
    ScalarFn,
    Scan,
    ScanFn,
    Slice,
    Store,
    Unary,
    op_name,
)
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import DTYPES, DType, TensorType
from prism_explore.support.caches import memoize


def show(graph: SGraph | TensorProgram) -> str:
    """The textual form, without a trailing newline.

    Args:
        graph: a graph or a program.

    Returns:
        The text that `parse` or `parse_program` reads.

    Example:
        >>> import prism_explore as px
        >>> program = px.parse_program('''program twice
        ...   x = input f32[b, 8]
        ...   %1 = add(x, x)
        ...   return %1''')
        >>> print(px.show(program))
        program twice
          x = input f32[b, 8]
          %1 = add(x, x)
          return %1
    """
    if isinstance(graph, TensorProgram):
        return "\n".join((f"program {graph.name}", *_body(graph.graph)))
    return "\n".join(("sgraph", *_body(graph)))


def show_block(block: BlockGraph) -> str:
    """The textual form of one block graph, header first."""
    return f"block {_header(block)}\n{_block_text(block, '  ')}"


def show_node(node: Node, names: dict[int, str] | None = None) -> str:
    """One operator with its operands, such as `matmul(x, %3)`."""
    called = names or {}
    parts = [called.get(a, f"%{a}") for a in node.args]
    match node.op:
        case Input(_, t):
            return f"input {t}"
        case Scalar(_, value):
            parts.append(str(value))
        case Reduce(_, along) | Scan(_, along):
            parts.append(f"dim={along}")
        case Accumulate(_, along) | AccumulateRescaled(along) | RunningMax(along):
            parts += [f"dim={along}"] if along is not None else []
        case Band(rows, columns, low, high, dtype):
            borders = [f"{k}={d}" for k, d in (("low", low), ("high", high)) if d is not None]
            parts = [f"rows={rows}", f"columns={columns}", *borders, f"dtype={dtype}"]
        case Permute(order):
            parts.append(f"order=[{', '.join(map(str, order))}]")
        case Reshape(dims):
            parts.append(f"dims=[{', '.join(map(str, dims))}]")
        case Expand(along, size):
            parts += [f"dim={along}", f"size={size}"]
        case Slice(along, start, stop):
            parts += [f"dim={along}", f"start={start}", f"stop={stop}"]
        case Concat(along):
            parts.append(f"dim={along}")
        case Lookup(along, batch):
            parts += [f"dim={along}", *([f"batch={batch}"] if batch else [])]
        case Result(index):
            parts.append(f"index={index}")
        case Load(operand, imap, fmap):
            parts = [str(operand), f"imap={_map(imap)}", *([f"fmap={fmap}"] if fmap is not None else [])]
        case Store(omap):
            parts.append(f"omap={_map(omap)}")
        case Custom(block):
            return f"custom({', '.join(parts)}) {_header(block)}"
        case _:
            pass
    return f"{op_name(node.op)}({', '.join(parts)})"


def _map(cut: tuple[int | None, ...] | None) -> str:
    if cut is None:
        return "?"
    return f"[{', '.join('-' if d is None else str(d) for d in cut)}]"


def _header(block: BlockGraph) -> str:
    grid = ", ".join(f"{p.name}={p.size}" for p in block.grid)
    return f"grid[{grid}]" + (f" loop[{block.loop.name}={block.loop.size}]" if block.loop else "")


@memoize(512)  # many candidates have a block in common
def _block_text(block: BlockGraph, indent: str) -> str:
    return "\n".join(f"{indent}%{i} = {show_node(n)}" for i, n in enumerate(block.nodes))


def _body(graph: SGraph) -> list[str]:
    names = {i: n.op.name for i, n in enumerate(graph.nodes) if isinstance(n.op, Input)}
    lines: list[str] = []
    for i, node in enumerate(graph.nodes):
        lines.append(f"  {names.get(i, f'%{i}')} = {show_node(node, names)}")
        if isinstance(node.op, Custom):
            lines.append(_block_text(node.op.block, "    "))
    lines.append(f"  return {', '.join(names.get(n, f'%{n}') for n in graph.outputs)}")
    return lines


_ASSIGN = re.compile(r"(?P<name>%\d+|[A-Za-z_]\w*) = (?P<rest>.+)\Z")
_CALL = re.compile(r"(?P<op>\w+)\((?P<args>(?:[^()]++|\([^()]*+\))*+)\)(?P<tail>.*)\Z")
_INPUT = re.compile(
    r"input (?P<dtype>\w+)\[(?P<dims>[^\]]*)\](?: order\((?P<order>[^)]*)\))?(?: strides\((?P<strides>.*)\))?\Z"
)
_MAP = re.compile(r"\[ *(?:(?:-|[0-9]{1,9}) *(?:, *(?:-|[0-9]{1,9}) *)*)?\]")
_NATURAL = re.compile(r"[0-9]{1,18}")
_HEADER = re.compile(r"\s*grid\[(?P<grid>[^\]]*)\](?: loop\[(?P<loop>[^\]]*)\])?\Z")


def parse(text: str) -> SGraph:
    """The sGraph that was printed.

    Args:
        text: the text of an sGraph, as `show` prints it.

    Returns:
        The sGraph.

    Raises:
        ParseError: with the line and what was expected there.
        ShapeError: the graph is ill-formed.


    Example:
        >>> import prism_explore as px
        >>> graph = px.parse('''sgraph
        ...   x = input f32[b, 8]
        ...   %1 = exp(x)
        ...   return %1''')
        >>> len(graph.nodes)
        2
    """
    head, graph = _parse(text)
    if head != "sgraph":
        raise ParseError(f"line 1: expected 'sgraph', found {shortened(head)}; parse_program reads a program")
    return graph


def parse_program(text: str) -> TensorProgram:
    """The program that was printed.

    Args:
        text: the text of a program, as `show` prints it.

    Returns:
        The program.

    Raises:
        ParseError: with the line and what was expected there.
        ShapeError: the program is ill-formed, or has a custom kernel.

    Example:
        >>> import prism_explore as px
        >>> program = px.parse_program('''program twice
        ...   x = input f32[b, 8]
        ...   %1 = add(x, x)
        ...   return %1''')
        >>> program.name
        'twice'
    """
    head, graph = _parse(text)
    match = re.fullmatch(r"program (\w+)", head)
    if match is None:
        raise ParseError(f"line 1: expected 'program NAME', found {shortened(head)}")
    return TensorProgram(match.group(1), graph)


def _parse(text: str) -> tuple[str, SGraph]:
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParseError(f"expected the text of a graph, as show() prints it; found a {type(text).__name__}")
    lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        raise ParseError("an empty text is no graph")
    head = lines[0][1].strip()
    nodes: list[Node] = []
    names: dict[str, int] = {}
    outputs: tuple[int, ...] = ()
    position = 1
    while position < len(lines):
        number, line = lines[position]
        position += 1
        stripped = line.strip()
        if stripped.startswith("return "):
            returned = stripped.removeprefix("return ").split(",")
            outputs = tuple(_operand(name.strip(), names, len(nodes), number) for name in returned)
            if position != len(lines):
                raise ParseError(f"line {lines[position][0]}: nothing may follow the return")
            break
        name, rest = _assignment(stripped, number)
        if rest.startswith("input "):
            names[name] = len(nodes)
            nodes.append(Node(Input(name, _input_type(rest, number))))
            continue
        _expect_position(name, len(nodes), number)
        op, args, tail = _call(rest, number)
        if op == "custom":
            inner: list[Node] = []
            indent = len(line) - len(line.lstrip())
            while position < len(lines) and len(lines[position][1]) - len(lines[position][1].lstrip()) > indent:
                at, block_line = lines[position]
                position += 1
                inner_name, inner_rest = _assignment(block_line.strip(), at)
                _expect_position(inner_name, len(inner), at)
                inner.append(_node(*_call(inner_rest, at), {}, len(inner), at))
            operands = tuple(_operand(a, names, len(nodes), number) for a in args)
            nodes.append(Node(Custom(_block(tail, tuple(inner), number)), operands))
        else:
            nodes.append(_node(op, args, tail, names, len(nodes), number))
    if not outputs:
        raise ParseError("the text ends without a return")
    return head, SGraph(tuple(nodes), outputs[0], outputs[1:])


def _assignment(line: str, number: int) -> tuple[str, str]:
    match = _ASSIGN.match(line)
    if match is None:
        raise ParseError(f"line {number}: expected 'NAME = OPERATOR(...)', found {shortened(line)}")
    return match.group("name"), match.group("rest")


def _call(rest: str, number: int) -> tuple[str, list[str], str]:
    match = _CALL.match(rest)
    if match is None:
        raise ParseError(f"line {number}: expected an operator call, found {shortened(rest)}")
    inside = re.findall(r"[^,\[]+(?:\[[^\]]*\])?", match.group("args"))
    return match.group("op"), [a.strip() for a in inside if a.strip()], match.group("tail")


def _expect_position(name: str, position: int, number: int) -> None:
    if name != f"%{position}":
        raise ParseError(f"line {number}: expected %{position}, found {name}; nodes are numbered in order")


def _operand(name: str, names: dict[str, int], limit: int, number: int) -> int:
    if name in names:
        return names[name]
    if name.startswith("%") and _NATURAL.fullmatch(name[1:]) and int(name[1:]) < limit:
        return int(name[1:])
    raise ParseError(f"line {number}: {shortened(name)} names no earlier tensor")


def _input_type(rest: str, number: int) -> TensorType:
    match = _INPUT.match(rest)
    axes = [d.strip() for d in ((match and match.group("order")) or "").split(",") if d.strip()]
    if match is None or match.group("dtype") not in DTYPES or not all(map(_NATURAL.fullmatch, axes)):
        raise ParseError(f"line {number}: expected 'input f32[DIM, ...]', found {shortened(rest)}")
    dims = tuple(dim(d.strip()) for d in match.group("dims").split(",") if d.strip())
    order = tuple(map(int, axes))
    strides = tuple(dim(s.strip()) for s in (match.group("strides") or "").split(",") if s.strip())
    return TensorType(dims, cast(DType, match.group("dtype")), order, strides)


def _dtype(text: str, number: int) -> DType:
    if text not in DTYPES:
        raise ParseError(f"line {number}: unknown dtype {shortened(text)}; known are {', '.join(DTYPES)}")
    return cast(DType, text)


def _block(tail: str, nodes: tuple[Node, ...], number: int) -> BlockGraph:
    match = _HEADER.match(tail)
    if match is None:
        raise ParseError(f"line {number}: expected 'grid[x=..] loop[i=..]', found {shortened(tail.strip())}")

    def parallel(text: str) -> ParallelDim:
        name, _, size = text.partition("=")
        return ParallelDim(name.strip(), dim(size.strip()))

    grid = tuple(parallel(p) for p in match.group("grid").split(",") if p.strip())
    return BlockGraph(grid, parallel(match.group("loop")) if match.group("loop") else None, nodes)


def _node(op: str, args: list[str], tail: str, names: dict[str, int], limit: int, number: int) -> Node:
    if tail.strip():
        raise ParseError(f"line {number}: nothing may follow {op}(...), found {shortened(tail.strip())}")
    keywords = dict(a.split("=", 1) for a in args if "=" in a)
    call = _Call(op, [a for a in args if "=" not in a], keywords, number)
    made = _operator(call)
    operands = [] if isinstance(made, Load) else call.operands
    return Node(made, tuple(_operand(a, names, limit, number) for a in operands))


@dataclass(frozen=True, slots=True)
class _Call:
    """An operator call in the text."""

    op: str
    operands: list[str]
    """The arguments without a keyword; `constant` removes the last."""
    keywords: dict[str, str]
    line: int

    def integer(self, key: str) -> int:
        """A natural number."""
        if not _NATURAL.fullmatch(self.keywords.get(key, "")):
            raise self.error(f"{self.op} needs {key}=N")
        return int(self.keywords[key])

    def dim(self) -> int:
        """The dim that the operator needs."""
        return self.integer("dim")

    def optional_dim(self) -> int | None:
        """The dim, or None if there is none."""
        return self.dim() if "dim" in self.keywords else None

    def size(self, key: str) -> Dim:
        """A symbolic size."""
        if key not in self.keywords:
            raise self.error(f"{self.op} needs {key}=SIZE")
        return dim(self.keywords[key])

    def items(self, key: str) -> list[str]:
        """The items of a list."""
        text = self.keywords.get(key, "")
        if not (text.startswith("[") and text.endswith("]")):
            raise self.error(f"{self.op} needs {key}=[..], found {shortened(text)}")
        return [part.strip() for part in text[1:-1].split(",") if part.strip()]

    def map(self, key: str) -> tuple[int | None, ...] | None:
        """An imap or omap; None if it is open."""
        text = self.keywords.get(key, "")
        if text == "?":
            return None
        if not _MAP.fullmatch(text):
            raise self.error(f"{self.op} needs {key}=[..], found {shortened(text)}")
        return tuple(None if d.strip() == "-" else int(d) for d in text[1:-1].split(",") if d.strip())

    def constant(self) -> Fraction:
        """The last operand, a rational constant."""
        try:
            return Fraction(self.operands.pop())
        except (ValueError, IndexError, ZeroDivisionError):
            raise self.error(f"{self.op} needs a rational constant last") from None

    def error(self, text: str) -> ParseError:
        """An error with the line."""
        return ParseError(f"line {self.line}: {text}")


def _operator(call: _Call) -> Op:
    match call.op:
        case "load":
            return _load(call)
        case op if op.endswith("_scalar") and op.removesuffix("_scalar") in SCALAR_FNS:
            return Scalar(cast(ScalarFn, op.removesuffix("_scalar")), call.constant())
        case op if op in UNARY:
            return Unary(op)
        case op if op in BINARY and "dim" not in call.keywords:
            return Binary(cast(BinaryFn, op))
        case op if op in REDUCE_FNS:
            return Reduce(cast(ReduceFn, op), call.dim())
        case op if op in SCAN_FNS:
            return Scan(cast(ScanFn, op), call.dim())
        case op if op.startswith("accum_") and op.removeprefix("accum_") in REDUCE_FNS:
            return Accumulate(cast(ReduceFn, op.removeprefix("accum_")), call.optional_dim())
        case "lookup":
            return Lookup(call.dim(), call.integer("batch") if "batch" in call.keywords else 0)
        case "matmul":
            return MatMul()
        case "accum":
            return Accumulate("sum")
        case "accum_rescaled":
            return AccumulateRescaled(call.optional_dim())
        case "running_max":
            return RunningMax(call.optional_dim())
        case "band":
            low, high = (call.size(key) if key in call.keywords else None for key in ("low", "high"))
            dtype = _dtype(call.keywords.get("dtype", ""), call.line)
            return Band(call.size("rows"), call.size("columns"), low, high, dtype)
        case "permute":
            if not all(map(_NATURAL.fullmatch, call.items("order"))):
                raise call.error("permute needs order=[..] of dims")
            return Permute(tuple(map(int, call.items("order"))))
        case "reshape":
            return Reshape(tuple(map(dim, call.items("dims"))))
        case "expand":
            return Expand(call.dim(), call.size("size"))
        case "slice":
            return Slice(call.dim(), call.size("start"), call.size("stop"))
        case "concat":
            return Concat(call.dim())
        case "result":
            return Result(call.integer("index"))
        case "store":
            return Store(call.map("omap"))
        case op:
            raise call.error(f"unknown operator {shortened(op)}")


def _load(call: _Call) -> Load:
    operand, fmap = call.operands, call.keywords.get("fmap")
    if len(operand) != 1 or not _NATURAL.fullmatch(operand[0]) or not _NATURAL.fullmatch(fmap or "0"):
        raise call.error("expected load(OPERAND, imap=[..], fmap=N)")
    return Load(int(operand[0]), call.map("imap"), int(fmap) if fmap is not None else None)
