"""`python -m firstbreak` is the command `firstbreak`, and so is the script of that name."""

import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until a command is there, Ctrl-C ends the process as it is

from firstbreak.cli import program

if __name__ == "__main__":
    program()
