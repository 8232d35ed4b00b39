"""The checked event log: tables of events, and the rules that each of them fired.

    export     what our own stores hold, and files that others drop, as a table each five minutes
    tables     Parquet files of one shape, their checksums
    transform  what a batch computes, as expressions of Ibis: no file, no clock, no engine
    batch      which tables are due, step by step, and what is known of each

Needs the extra `eventlog` of the package; no worker imports it.
"""
