"""The search: a program in, families, proofs and timed kernels out, every step an event."""
