"""Whole networks, one per file, on the frame in `base`."""
