"""What models say of a message: the content model, learned from people's word, and the final model
over everything that is known.
"""
