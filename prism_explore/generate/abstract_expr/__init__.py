"""Abstract expressions: what a partial graph computes with its sizes left out, for pruning."""
