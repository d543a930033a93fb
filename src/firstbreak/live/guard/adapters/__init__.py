"""One adapter per framework. All decisions are in guard.py.

An adapter whose bundles can be replayed has `replay(built, bundle) -> {name: value}`: the function runs the update of the
bundle again on `built` and returns the measured values. `built` is the result of the user's function (see replay.py).
"""
