"""The command line: ``cavi ...`` and ``python -m cavi ...``."""

import signal
import sys

from ._core import command_line


def main() -> int:
    """Run the command line on the arguments of the process."""
    # Ctrl-C is answered by the command, which writes what is done, as the binary does.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return command_line(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
