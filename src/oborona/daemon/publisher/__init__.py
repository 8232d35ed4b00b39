"""The switch of all workers to another policy at one moment: one process loads and offers it, each
worker loads it, and one write switches all.

policy folder → `Publisher` → copy in the state folder → offered on the `Page` → loaded by
`FollowedPolicy` in each worker, which says so → the publisher writes its name as the one in force:
every message that begins from then on is judged by it.
"""
