"""Pruning rules of the enumeration."""
