"""firstbreak check plan [PATH]"""

from typing import Any

import click

from firstbreak.cli.check import reported


class WithKeys(click.Command):
    """Its help ends with the keys of every section, which are asked of the checks themselves."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from firstbreak.preflight import plan as plans

        rows = [
            (f"[check.{name}]", ", ".join(f"{key} (needed)" if needed else key for key, needed in of_check))
            for name, of_check in plans.keys().items()
        ]
        with formatter.section("Keys"):
            formatter.write_dl(rows)


@click.command("plan", cls=WithKeys)
@click.argument("plan", metavar="[PATH]", default=".")
@click.option("--only", metavar="CHECK", multiple=True, help="Run this check only (may be given several times).")
@reported("plan")
def command(**options: Any) -> dict[str, Any]:
    """Run every check that firstbreak.toml, or [tool.firstbreak.check] in pyproject.toml, asks for.

    PATH is the file or its folder. Each section is one check; its keys are listed below.
    """
    return options
