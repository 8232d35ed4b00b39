"""Several machines on one page: who is asked, and what their answers become."""
