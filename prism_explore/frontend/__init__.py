"""Traces a torch function or module to a TensorProgram, and maps the user's tensors to its inputs.

| module | does |
|---|---|
| `traced_program` | the result: the program, and the mapping from the user's tensors to its inputs |
| `result_form` | the structure around a program's result: tuples, lists, dicts, returned arguments |
| `export` | torch.export's graph, with symbolic sizes where declared |
| `torch_tracing` | the lock that is held while torch traces |
| `lower_aten` | one pass over that graph; the kinds of traced values |
| `aten/table` | the table of ATen operators; `aten/views` and `aten/attention` hold the longer rows |
| `aten/constants` | tensors known at compile time: constants, positions, masks |
| `argument_form` | calls with numbers, structures of tensors, and keyword-only arguments |
| `mixed_trace` | a whole program: tensor programs, and opaque calls of torch for operators without a row |
| `mixed_program` | such a program as data, and its execution |
| `opaque` | which operators may be opaque; their calls as plain data |
| `library_calls` | a table of torch's larger calls, each of which may equal a full program |
| `autograd` | a kernel's result with the gradient of the torch code that it replaces |
| `workloads` | published programs with their shapes |
"""

from prism_explore.frontend.argument_form import ArgumentForm
from prism_explore.frontend.export import declare_symbols, trace
from prism_explore.frontend.library_calls import LibraryCall
from prism_explore.frontend.result_form import ResultForm
from prism_explore.frontend.traced_program import Binding, Signature, Traced, bind_inputs, data_sizes, with_structure

__all__ = [
    "ArgumentForm",
    "Binding",
    "LibraryCall",
    "ResultForm",
    "Signature",
    "Traced",
    "bind_inputs",
    "data_sizes",
    "declare_symbols",
    "trace",
    "with_structure",
]
