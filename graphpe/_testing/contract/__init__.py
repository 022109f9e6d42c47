"""The promises of an encoding, by kind of check, and the graphs to test them on."""
