"""One connection and one message: what is asked for, judged, answered and written down."""
