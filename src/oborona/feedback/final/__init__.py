"""Training of the final model from mail that people have sorted."""
