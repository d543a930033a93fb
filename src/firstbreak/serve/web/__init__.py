"""The local web page over runs on disk. Nothing leaves the machine, and nothing is uploaded.

`run_store` finds the runs and keeps their diagnoses up to date. `window` thins curves to the size of a screen. `pages` makes
the HTML. `auth` decides which requests are answered. `app` connects addresses to pages.
"""
