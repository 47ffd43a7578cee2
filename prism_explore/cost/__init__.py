"""GRAPH -> WORK: what a graph must move, compute and hold, as sizes; and what follows for its time."""
