"""Man pages and completion, written from what the commands, the settings and the language of rules
say of themselves: `python -m oborona.cli.manual SHARE` puts them below a `share` folder.
"""
