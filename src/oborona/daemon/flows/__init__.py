"""The flow process: follows a source of flows, and brings what it says into the counters."""
