"""Lists of single persons, within the scope of who asks."""
