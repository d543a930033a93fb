"""The local page over runs on disk: a reading room, not a service. Nothing leaves the machine, nothing is uploaded.

`shelf` knows the runs and keeps their diagnoses up to date, `window` thins curves to what a screen can show, `pages` puts
both into HTML, `gate` decides who is answered, `app` ties them to addresses.
"""
