"""Triton back end: a graph with sizes becomes Triton source, checked, compiled and launched."""
