"""`python -m tests.campaign`: see `runner`."""

import sys

from campaign.runner import main

sys.exit(main())
