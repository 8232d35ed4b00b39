"""The final model: boosted trees over facts, rules and the content model, trained offline and
applied here without their library.
"""
