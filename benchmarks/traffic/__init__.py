"""Thirty days of a site's traffic, made up from a seed: who connects, what the filter makes of it,
what people say of it.
"""
