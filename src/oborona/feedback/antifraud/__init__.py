"""Who of those that speak about mail may be believed: pure judgement, without stores and clocks.

believe.believe      of one event: whether it counts for all, how much, and the names of the rules
                     that say no
revise.revise        of a campaign: which events that were believed are not to be, with what is
                     known now
outcome.outcomes     of a campaign: who was right about it, and who was wrong
standing.weight_of   of a person: how far they are believed
thresholds.thresholds  of a day: how often a person may speak
"""
