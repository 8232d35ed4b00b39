"""Flows of SMTP from network equipment: who of ours sends how much, whoever owns the machine.

Sizes and addresses alone, no content.  `windows` is the arithmetic; `nfdump` and `json_lines` read
two sources, `clickhouse_window` has a third add up itself; `flow_taker` brings the sums into the
counters, each file once.
"""
