"""A stock Debian 12 with systemd and cgroup v2, in a virtual machine: `make test-vm`."""
