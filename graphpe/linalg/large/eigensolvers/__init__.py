"""Eigensolvers for the smallest eigenvalues of one connected sparse graph, one a file."""
