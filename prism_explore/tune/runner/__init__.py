"""Trials: worker processes, correctness checks, timing, races, comparison with baselines."""
