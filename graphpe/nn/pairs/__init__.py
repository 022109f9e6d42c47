"""Networks on all pairs of nodes of a graph, such as the ρ of SPE and SignNet."""
