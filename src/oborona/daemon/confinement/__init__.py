"""Confinement: what our processes give up, so that an attacker who takes one over gains little of
the machine. `kinds` has the lists of system calls, `seccomp` puts them in force.
"""
