"""LLVM IR: emission with explicit vectors, and just-in-time compilation through llvmlite."""
