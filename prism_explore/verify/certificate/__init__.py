"""Certificates: a proof as lemmas that egglog replays from axioms."""
