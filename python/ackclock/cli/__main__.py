"""`python -m ackclock.cli`."""

import sys

from ackclock.cli.app import guarded

sys.exit(guarded())
