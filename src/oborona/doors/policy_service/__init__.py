"""The door for check_policy_service of Postfix: refuses clients, senders and recipients, sees no
content.
"""
