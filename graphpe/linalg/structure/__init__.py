"""Counts of small structures in dense stacks and in lists of neighbours."""
