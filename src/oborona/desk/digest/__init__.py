"""Digests: a mail that tells readers what was kept from them, and the links in it."""
