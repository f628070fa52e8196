"""SSH connections to sessions, made by the OpenSSH of this computer.

`portal_ssh.py` is a link to the program that the portal also offers for download.
"""
