"""Looks at pictures and reads them, in processes that can be killed: `service` and its children.

`client` is what workers have.
"""
