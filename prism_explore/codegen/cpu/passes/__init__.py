"""Passes over the loop IR of a CPU kernel."""
