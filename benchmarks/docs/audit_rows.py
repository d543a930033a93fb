"""Every row of the audit of samples, by link."""

from benchmarks.docs.docstrings import by_link, prose
from firstbreak.audit.rows import rows
from firstbreak.words import link_word


def page() -> str:
    """docs/reference/audit-rows.md"""
    parts = [
        "# Rows of the audit",
        "A row asks one question about the samples of a run, and reports a finding like a detector. `firstbreak audit RUN` asks "
        "all of them; [how samples are read](../audit.md). Beside these rows the audit says whether the reward was hacked, and "
        "whether the reward and the right answers disagree.",
    ]
    for link, found in by_link(rows()):
        parts.append(f"## {link_word(link).capitalize()}")
        for row in found:
            _, _, told = row.doc.partition("\n")
            parts += [f"### {row.id}", f"{row.title}.", prose(told.strip())]
    return "\n\n".join(parts)
