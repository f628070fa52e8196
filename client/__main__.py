"""`python -m client` is the program `dsp`."""

import sys

from .app import main

sys.exit(main())
