"""The command line: `app` and one file for each command."""
