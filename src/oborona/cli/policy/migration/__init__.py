"""From the old layout, in which all that ships was copied into the site's policy folder, to one in
which that folder holds what is the site's.

`layout` tells copies from files of the site. `changes` finds what was changed in a copy and writes
it as a file of its own. `differences` compares two policies. `plan` makes the plan of the migration
and proves that nothing is lost. `execution` carries it out.
"""
