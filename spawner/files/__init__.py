"""File operations of the launcher, run as the user.

Use only the standard library and names of `spawner.launcher.program`: `deploy.launcher` appends
these files to it and installs the result as one program. Apart from tests, nothing else imports
them.

A path is a root plus the steps below it. The portal names the root; links within the root's own
path are the site's responsibility. Reads follow links, because the user has the same rights as in a
terminal. Writes open each step by directory descriptor without following links.
"""
