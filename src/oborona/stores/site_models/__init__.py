"""The final models of a site of several machines, as its log has them."""
