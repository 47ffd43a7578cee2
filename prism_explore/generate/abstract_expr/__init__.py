"""Abstract expressions: normal forms of what a partial graph computes, without sizes; used for pruning."""
