"""Equality saturation in egglog, in a process of its own, with limits."""
