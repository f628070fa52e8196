"""From a request to something running in an allocation; knows no database, no web framework."""
