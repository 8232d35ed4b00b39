"""The site's own lists as files of the policy folder."""
