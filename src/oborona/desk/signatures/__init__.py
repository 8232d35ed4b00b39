"""Signatures of the store, and what is found with them."""
