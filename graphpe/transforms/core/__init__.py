"""What all encodings share: the base classes, the engine that runs them, and how results reach a graph."""
