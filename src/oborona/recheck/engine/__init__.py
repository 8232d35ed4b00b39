"""The second look at delivered messages: judged again with what is known now, decided copy by copy,
moved.
"""
