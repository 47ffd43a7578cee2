"""ATen operators of an exported torch graph, each translated to operators of the IR."""
