"""The pages as HTML, one module each. All content passes through `element`, which escapes it."""

from firstbreak.serve.web.pages import comparison, explanation, frame, listing, run, samples

__all__ = ["comparison", "explanation", "frame", "listing", "run", "samples"]
