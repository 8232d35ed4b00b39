"""All asks and acts: whoever imports this has them in `oborona.desk.call.CALLS`."""

# from oborona.desk.acts import lists as _act_lists
# from oborona.desk.acts import personal as _act_personal
# from oborona.desk.acts import reputation as _act_reputation
# from oborona.desk.acts import signatures as _act_signatures
# from oborona.desk.asks import lists as _ask_lists
# from oborona.desk.asks import personal as _ask_personal
# from oborona.desk.asks import reputation as _ask_reputation
# from oborona.desk.asks import signatures as _ask_signatures
