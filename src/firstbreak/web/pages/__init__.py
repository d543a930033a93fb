"""The pages as HTML, one module each. Everything passes through `element`, which escapes."""

from firstbreak.web.pages import comparison, frame, listing, run, samples

__all__ = ["comparison", "frame", "listing", "run", "samples"]
