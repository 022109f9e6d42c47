"""`graphpe encode`: computes encodings of a dataset into a cache."""
