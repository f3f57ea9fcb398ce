"""See __main__.py."""
