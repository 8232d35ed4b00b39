"""What mail is, as people of the site say it: labels, and what follows from them."""
