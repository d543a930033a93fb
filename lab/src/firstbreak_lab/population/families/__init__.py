"""One trainer family a file; family.py says what it holds. A name that begins with `_` is a helper of several families."""
