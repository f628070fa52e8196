"""The files program: operations on a user's files, run as the user.

The launcher becomes this program (`op_files` in spawner/launcher/program.py). It is installed
beside the launcher as one file, files.pyz (spawner/launcher/installed.py), and imports only the
standard library, this package, `spawner.launcher.program`, `spawner.launcher.folders` and
`spawner.usage_file`.

A path is a root plus the parts below it. The portal names the root; links within the root's own
path are the site's responsibility. Reads follow links, because the user has the same rights as in a
terminal. Writes open each part by directory descriptor without following links.
"""
