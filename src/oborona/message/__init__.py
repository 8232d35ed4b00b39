"""Messages taken apart: structure, text, links, attachments, shingles; pure."""
