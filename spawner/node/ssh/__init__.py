"""SSH connections to this session or job, each served by a process of the node's sshd."""
