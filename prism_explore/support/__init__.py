"""Helpers that know nothing of tensor programs."""
