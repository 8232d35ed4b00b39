"""A model of persons: what it is told of each, what it is trained on, and what it says."""
