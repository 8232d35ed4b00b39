"""Antifraud: which reports are accepted.  Pure, without stores and clocks.

belief.believe               of one event: whether it counts for all, its weight, and the names of
                             the rules that refuse it
revision.revise              of a campaign: which accepted events are no longer to be accepted
outcome.outcomes             of a campaign: who was right about it, and who was wrong
standing.weight_of           of a person: the weight of their reports
thresholds.daily_thresholds  of a day: how many reports of one person are normal
"""
