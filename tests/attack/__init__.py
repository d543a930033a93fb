"""Runs that were made to harm whoever reads them: `make attack` counts what comes of them, and the tests ask for a share."""
