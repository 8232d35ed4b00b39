"""What people, traps and sites say of messages: written down before it is acknowledged, believed
later.
"""
