"""Messages over which workers die: who was being judged at a death, who is not looked into any
more, and what is kept for a look.
"""
