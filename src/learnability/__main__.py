"""``python -m learnability``: the same as the ``learnability`` command."""

from learnability.cli import main

raise SystemExit(main())
