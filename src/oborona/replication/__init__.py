"""Stores that are common to several machines: each machine has the whole of each as a SQLite file
of its own, and one log in PostgreSQL has every change of them, in one order.

    write   own turn at the store (a row lock in PostgreSQL) → catch up → change the own file
            → what was done goes into the log, and is durable → the own change is kept
    follow  LISTEN, and a look each second → what others wrote is done to the own file, once

A machine that does not reach the log reads on with what it last knew.
See docs/adr/0117-one-log-many-replicas.md.
"""
