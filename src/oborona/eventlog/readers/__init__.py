"""Who may read which tables and columns: each reader gets tables of their own, with those alone."""
