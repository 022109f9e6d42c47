"""Encodings on disk: one entry for each dataset and encoding, in shards that are checked when they are read."""
