"""One trainer a file, with the name of its package: which of its functions are looked at, and what they hold (`SEAMS`)."""
