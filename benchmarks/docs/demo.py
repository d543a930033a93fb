"""What `firstbreak demo` prints, as a picture of a terminal that names no machine."""

import io
from dataclasses import replace

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from firstbreak.cli.demo import RUN
from firstbreak.engine.diagnose import diagnose
from firstbreak.readers.read import read
from firstbreak.reports import screen

COLUMNS = 80
NAME = "my-run"  #: in the place of the folder
#: colours of the 16 names, as on a common dark terminal
_ANSI = [
    (69, 73, 82),
    (240, 113, 103),
    (130, 196, 140),
    (229, 178, 80),
    (126, 170, 226),
    (200, 150, 220),
    (110, 190, 200),
]
THEME = TerminalTheme((27, 30, 36), (221, 223, 226), [*_ANSI, (221, 223, 226)], [*_ANSI, (255, 255, 255)])
#: Rich's own, without the fonts that it would load from elsewhere
FORMAT = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>.{unique_id}-matrix{{font:{char_height}px "Fira Code","DejaVu Sans Mono",Menlo,Consolas,monospace}}
.{unique_id}-title{{font:bold 18px system-ui,sans-serif}}{styles}</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}</defs>
{chrome}<g transform="translate({terminal_x},{terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g></g></svg>
"""


def picture() -> str:
    """docs/pictures/demo.svg: the screen."""
    dx = diagnose(replace(read(RUN), path=NAME))
    lines = Text.from_ansi(screen.render(dx, width=COLUMNS, color=True)).split("\n")
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text("$ firstbreak demo"), *lines, sep="\n", soft_wrap=True)
    return console.export_svg(title="firstbreak demo", theme=THEME, code_format=FORMAT, unique_id="demo")
