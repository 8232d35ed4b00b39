"""SPF, DKIM, DMARC, ARC; pure, the DNS is asked by who calls."""
