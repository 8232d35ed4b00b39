"""People: who may do what on this site, as whom they come, and how that is proved."""
