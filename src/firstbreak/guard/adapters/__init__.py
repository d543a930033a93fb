"""One framework's hook each; everything that decides lies in guard.py.

An adapter whose bundles can be run again has `replay(built, bundle) -> {name: value}`: what was measured in the update that
the bundle holds, measured anew on `built`, which is what the user's own code has built (see replay.py).
"""
