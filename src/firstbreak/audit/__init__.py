"""Reads what the policy wrote, and says what it has learned to do.

samples -> blind -> table -> shift, triad, rows -> Audit -> report, page

blind      the wall: detectors see a PolicySample, only `scoring` sees the Oracle
metrics/   side metrics, one behaviour a file
table      one streaming pass, bounded memory
shift      which behaviour shifted, since when, and does the reward pay for it
scoring    the reward against what is true
triad      reward up, behaviour shifted, truth not following
rows/      further audit rows, one a file
diversity  how many strategies there are; embeddings: with a local model, by meaning
selection  which samples a person should read
judge      a language model as one more reader, with its own error bars
marks, page, serve   people read, mark and keep
"""
