"""The store of persons: what each has said of mail, and whom they know."""
