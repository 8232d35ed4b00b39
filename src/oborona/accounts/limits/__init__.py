"""Limits on outgoing mail: what is usual for who sends, and whether a message goes over.

`usual` is the arithmetic of past days, `decision` tells which limits a message passes and what
becomes of it, `subjects` who is counted, `plan` where each number lies; `reader` asks the counters.
`oborona.session.outgoing_limits` answers.
"""
