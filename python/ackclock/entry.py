"""Entry point of the command `ackclock`: short until the command itself is imported."""

import signal
import sys


def main() -> int:
    """Run the command; returns the exit status."""
    if sys.argv[1:] == ["--version"]:
        from ackclock._core import __version__

        print(__version__)
        return 0
    # While modules are imported, Ctrl-C ends the process as the system does, without a traceback.
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from ackclock.cli.app import main as command

    signal.signal(signal.SIGINT, handler)
    return command()
