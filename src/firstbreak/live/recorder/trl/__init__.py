"""TRL's trainers (GRPO, RLOO, DPO, reward models): a callback that finds the trainer and looks at its tensors.

callback.py   the callback, which writes what was measured
inside.py     the wrapped methods of one trainer, in the order of an update
batch.py      a batch that was just sampled and scored
minibatch.py  the first minibatch of an update
passes.py     measured passes through a model

Nothing of the training is changed: methods are called with what they were given and their results are passed on; gradients are
looked at by hooks that return nothing; measured passes run in evaluation mode, without gradients and random numbers.
"""
