"""All asks and acts: whoever imports this has them in `oborona.desk.call.CALLS`."""
