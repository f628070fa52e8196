"""The directory: who there is, whose password is right, and changes to people and groups.

`contract` says what the rest of the portal may ask.
"""
