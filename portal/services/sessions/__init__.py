"""Sessions as seen by their owner, the hub and their node program, and access control for them.

The node program is what a session's job runs on its node, as the user: it calls the portal, waits
for the environment of its server, and becomes JupyterLab (spawner/node/session.py). The launcher
and the files program are described in services/jobs/__init__.py.
"""
