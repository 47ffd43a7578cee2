"""prism_explore: explore the symbolic superoptimization of tensor programs, step by step."""
