"""The events of a search, the append-only journal that stores them, and folds that compute results from them.

It imports nothing else of this package but the exceptions: browser messages, saved files and test goldens are the same
plain data.
"""
