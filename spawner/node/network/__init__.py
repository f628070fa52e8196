"""The network of a node program: private namespaces and TLS."""
