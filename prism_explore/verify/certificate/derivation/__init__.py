"""Derivation: the axiom instances that prove one lemma."""
