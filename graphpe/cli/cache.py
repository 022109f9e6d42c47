"""`graphpe cache`: what a cache of encodings holds."""
