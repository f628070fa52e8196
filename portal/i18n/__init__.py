"""Translation of the server's messages, for what is read outside of the pages."""
