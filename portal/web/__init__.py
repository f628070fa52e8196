"""Common parts of the routes: dependencies, middleware, fields and the API's description."""
