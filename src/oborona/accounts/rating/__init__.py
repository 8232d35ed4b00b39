"""What speaks against an account, and the rating that is left."""
