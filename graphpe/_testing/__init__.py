"""Implementation of `graphpe.testing`."""
