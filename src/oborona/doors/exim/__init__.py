"""The door for Exim's ${readsocket}: one line asks, one line answers that ACLs take apart with
${extract}.
"""
