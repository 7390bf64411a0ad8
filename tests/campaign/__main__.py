"""`python -m tests.campaign`: see `runner`."""

import sys

from campaign.runner import main

if __name__ == "__main__":
    sys.exit(main())
