"""Cases of people who decide campaigns: who looks at one, what was decided, and what it did."""
