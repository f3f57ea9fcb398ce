"""`python -m ackclock` is the command `ackclock`."""

import sys

from ackclock.entry import main

sys.exit(main())
