"""Tables by the time of events, made of checked tables that nothing more is expected for."""
