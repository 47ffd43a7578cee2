"""CPU back end: a graph with sizes becomes loops, then LLVM IR with explicit vectors."""
