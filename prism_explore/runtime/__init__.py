"""The results of a search: callable kernels, dispatch by size, saved kernels."""
