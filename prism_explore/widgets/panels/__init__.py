"""Panels of the explorer: result, inspector, tables."""
