"""The Postfix of this machine: what it is told, which of its smtpd ask a milter, what they reach,
and the change that has them ask us.
"""
