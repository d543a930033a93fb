"""The contract of the JSON report, as a page and as a file."""

import json

from firstbreak.reports import json as report


def page() -> str:
    """docs/reference/schema.md"""
    text = json.dumps(report.schema(), indent=2)
    version = report.SCHEMA
    return "\n\n".join(
        [
            "# JSON schema of a diagnosis",
            f"`firstbreak diagnose RUN --format json` prints one object of version `{version}` (a list for several "
            "runs), and so do the web page's JSON and the MCP tool `diagnose`. Within version 1 keys may be added; none is "
            "removed and none changes its meaning. The file is [diagnosis.schema.json](diagnosis.schema.json), and "
            "`firstbreak.reports.json.schema()` in Python.",
            f"```json\n{text}\n```",
        ]
    )


def published() -> str:
    """The schema as a file of its own."""
    return json.dumps(report.schema(), indent=2)
