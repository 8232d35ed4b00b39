"""Signing in by the site's OpenID provider: what it is asked, and what is believed of it."""
