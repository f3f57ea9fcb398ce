"""Suites: run a controller in many situations, write one page, and compare two results."""
