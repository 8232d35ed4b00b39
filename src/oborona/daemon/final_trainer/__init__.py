"""The training of the site's own final model by itself: when, from what, and what follows."""
