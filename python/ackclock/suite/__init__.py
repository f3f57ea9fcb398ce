"""Suites: a controller through many situations, one page, and two such pages compared."""
