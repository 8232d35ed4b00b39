"""The pass over a whole day: what all of it tells, and rows that are given out again."""
