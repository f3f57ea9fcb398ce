"""`python -m ackclock.cli`."""

import sys

from ackclock.cli.app import main

sys.exit(main())
