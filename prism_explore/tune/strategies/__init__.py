"""Strategies: which point of the tuning space to try next."""
