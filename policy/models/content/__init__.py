"""What people's word teaches about texts: features of a message, weights, learning, calibration,
explanation.
"""
