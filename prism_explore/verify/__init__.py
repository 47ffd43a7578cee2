"""Proofs that a candidate equals its program for all sizes, and an independent refuter; see README.md."""
