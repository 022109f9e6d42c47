"""Random draws that are functions of a key and a position."""
