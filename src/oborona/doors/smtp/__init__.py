"""SMTP and LMTP as the doors speak them that take whole messages and hand them on: commands,
answers, content, and the connection to a next hop.
"""
