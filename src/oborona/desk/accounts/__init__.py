"""Who sends from here, and what went over a limit, for asks and acts."""
