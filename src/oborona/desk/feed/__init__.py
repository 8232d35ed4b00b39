"""The feed: signed rules between releases, fetched from a folder that the admin names."""
