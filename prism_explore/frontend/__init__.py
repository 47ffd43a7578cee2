"""A torch function or module, to a TensorProgram, and user's tensors to its inputs.

| module | does |
|---|---|
| `traced` | what a caller gets: the program, and how the user's tensors become its inputs |
| `tracing` | torch.export's graph, with the sizes that were declared symbolic |
| `translate` | one pass over that graph; what a traced value can be |
| `known` | tensors that are known without computing them: constants, positions, bands |
| `whole` | a table of torch's larger calls, each of which may be a whole program |
| `gradients` | a kernel's result with the gradient of the torch code that it replaces |
| `rows` | the table of ATen operators; `views`, `attention` hold the longer rows |
"""

from prism_explore.frontend.export import declare_symbols, trace
from prism_explore.frontend.library_calls import LibraryCall
from prism_explore.frontend.traced_program import Binding, Signature, Traced, bind_inputs, data_sizes, single_result

__all__ = [
    "Binding",
    "LibraryCall",
    "Signature",
    "Traced",
    "bind_inputs",
    "data_sizes",
    "declare_symbols",
    "single_result",
    "trace",
]
