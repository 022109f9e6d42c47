"""Algorithms for one large sparse graph: eigenpairs, walks, components."""
