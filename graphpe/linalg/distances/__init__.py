"""Shortest paths and orders of dense stacks of graphs."""
