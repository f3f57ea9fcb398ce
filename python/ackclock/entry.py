"""Entry point of the command `ackclock`. It imports little before it imports the command itself."""

import signal
import sys


def main() -> int:
    """Run the command; returns the exit status."""
    if sys.argv[1:] == ["--version"]:
        from ackclock._core import ENGINE

        print(ENGINE)  # the version, and a hash of the engine's sources
        return 0
    # During the imports, SIGINT has its default action: it ends the process without a traceback.
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from ackclock.cli.app import guarded as command

    signal.signal(signal.SIGINT, handler)
    return command()


if __name__ == "__main__":
    sys.exit(main())
