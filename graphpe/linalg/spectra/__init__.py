"""Spectra of dense stacks of graphs, and what is made of them."""
