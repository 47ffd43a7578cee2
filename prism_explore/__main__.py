"""The command `prism-explore`, also as `python -m prism_explore`; an interrupt ends it without a traceback."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line and return its exit status."""
    try:
        from prism_explore.entry.cli import main as run

        return run()
    except KeyboardInterrupt:
        print("prism-explore: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
