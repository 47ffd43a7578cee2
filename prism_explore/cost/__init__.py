"""GRAPH -> WORK: symbolic counts of traffic, arithmetic and memory; and bounds on time that follow from them."""
