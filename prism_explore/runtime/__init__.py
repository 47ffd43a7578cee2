"""What a search hands out: a callable kernel, dispatch by size, saved kernels."""
