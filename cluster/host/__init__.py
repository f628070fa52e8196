"""The host underneath: namespaces, cgroups, and the programs that run as process 1."""
