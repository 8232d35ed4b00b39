"""What another filter was told, as lists, rules on trial, signatures and lists of people.

Each program has a module that reads its files into a `MovePlan`.  Nothing of it is ever run: no
Perl, no Lua, no shell.  Every line that says something is carried over or left with a reason.
"""
