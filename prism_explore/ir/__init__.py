"""The intermediate representation: sizes, tensors, operators, programs and sGraphs, their analyses and transforms."""
