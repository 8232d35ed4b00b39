"""Rules over logs of events: each is one condition, calculated for a row by the compiled function
of the rules' language, and for a table by an engine, with the same result.

    columns = compile_rules(policy.events.by_log["FEEDBACK"], log)
    checked = with_rules(table, columns, live_names(rules))

A rule goes through `policy.expression` (syntax, kinds, places of faults), then `emit` -> an
expression of Ibis over the columns that `columns` names.  What such a table needs beside the
columns of the log, `facts` adds.
"""
