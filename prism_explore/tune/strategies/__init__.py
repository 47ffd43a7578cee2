"""Strategies that propose the next sizes to time."""
