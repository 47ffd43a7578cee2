"""Constraints on sizes: symbolic extents, their solutions, small concrete sizes."""
