"""Own addresses: which there are, when DNS lists are asked about each, and what they said."""
