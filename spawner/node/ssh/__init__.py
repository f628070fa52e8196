"""SSH connections to this session, each served by a process of the node's sshd."""
