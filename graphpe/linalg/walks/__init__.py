"""Random walks on dense stacks of graphs."""
