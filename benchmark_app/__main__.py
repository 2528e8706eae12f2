"""`python -m benchmark_app`."""

import sys

from benchmark_app.cli import main

sys.exit(main())
