"""A month of made-up outgoing mail, and what the product's own code makes of it."""
