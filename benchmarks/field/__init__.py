"""Public runs that nobody tuned to, and what a reader said of each before firstbreak did: `python -m benchmarks.field`.

    index.jsonl   one reading a line: where the run is (never the run itself), verdict, link, onset, and why
    index.py      the readings, and the split by repository
    fetch.py      brings the files that can be had, and checks them against the index
    score.py      what firstbreak says of them, beside the readings

The part `seen` may be looked at, miss by miss. The part `unseen` is scored once a release and not looked at.
"""
