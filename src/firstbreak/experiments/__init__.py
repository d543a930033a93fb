"""The smallest experiment that separates the causes of a diagnosis, run on the user's own trainer.

catalogue/   one experiment per file: what is overridden, how short it is, what is asked of it, and what each answer
             says about each cause
plan         which experiment is worth the most per minute, given the ranking of causes
settings     how the user's training is started; overrides: canonical options in that trainer's own syntax
conduct      run the arms (on this machine or on Ray), read them back, ask the questions, update the diagnosis
decide       tests that may be looked at after every step
"""
