"""Models of the site, gathered for asks and acts."""
