"""Transforms of programs that keep their meaning, applied before a search."""
