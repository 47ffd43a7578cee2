"""The diary of a search: plain facts, an append-only journal, and folds over it.

Imports nothing of ours but errors: the wire to the browser, the saved file and the golden in a test
are the same data.
"""
