"""``python -m graphpe.cli`` is the `graphpe` command."""

from __future__ import annotations

import sys

from graphpe.cli import main

sys.exit(main())
