"""``python -m learnability``: the ``learnability`` command, in a warm interpreter if there is one."""

import sys

from learnability.warm import hand_over


def run() -> int:
    """Exit code of the verb, run by the warm interpreter or here."""
    code = hand_over(sys.argv[1:])
    if code is None:
        from learnability.cli import main

        code = main()
    return code


raise SystemExit(run())
