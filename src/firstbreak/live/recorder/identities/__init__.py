"""One identity a file: `measure` names what it needs as parameters, and returns numbers as {signal without `proof.`: reading}.

A reading is a number, or a number and the place of the worst one. A place is given only where the identity fails beyond what
arithmetic explains.
"""
