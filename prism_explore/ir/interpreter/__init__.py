"""Interpreters of programs and graphs in NumPy; the reference interpreter defines their meaning."""
