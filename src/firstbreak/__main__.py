"""`python -m firstbreak` is the command `firstbreak`."""

from firstbreak.cli import program

if __name__ == "__main__":
    program()
