"""Cases of people who decide: who looks at a campaign, what was decided, and what it did; what
senders wrote against a refusal.
"""
