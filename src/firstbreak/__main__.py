"""`python -m firstbreak` is the command `firstbreak`."""

from firstbreak.cli import main

if __name__ == "__main__":
    main()
