"""Finds from samples what the policy has learned to do: reward hacking, since when, and what is rewarded.

samples -> split_truth -> table -> shift, reward_hacking, rows -> Audit -> report, page

split_truth     splits a sample: metrics see a PolicySample, only `scoring` sees the Oracle
metrics/        side metrics, one behaviour in each file
table           one streaming pass over the samples, in bounded memory
shift           which behaviour shifted, since when, and whether the shift is rewarded
scoring         compares the reward with the truth
reward_hacking  the reward-hacking test: the reward rises, behaviour shifts, the truth does not follow
rows/           further audit rows, one in each file
diversity       how many strategies there are; embeddings: by meaning, with a local model
selection       which samples a person should read
judge           a language model as a judge, with its error bars
marks, page, serve   a person reads samples, marks them and saves the marks
"""
