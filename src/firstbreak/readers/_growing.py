"""Several text files of one run, each appended to while the run goes on."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from firstbreak.readers import Recording, Unreadable
from firstbreak.readers._tail import Cursor, Lines, still_holds
from firstbreak.readers.opening import open_file


class GrowingFiles:
    """Whole lines of files by name, from where the last read of each file ended.

    If any file was rewritten since, all are read anew, so that what is returned is of one time.
    """

    def __init__(self, files: Mapping[str, Path], resume: Mapping[str, Cursor] | None) -> None:
        self.files = files
        known = {name: cursor for name, cursor in (resume or {}).items() if name in files}
        self.replaces = not all(still_holds(files[name], cursor) for name, cursor in known.items())
        self.cursors: dict[str, Cursor] = {} if self.replaces else dict(known)
        self.unread: list[str] = []

    def lines(self, name: str) -> Iterator[tuple[int, bytes]]:
        """(number, line) of each new line of a file; lines are counted from 0. Leaves the cursor behind the last one."""
        cursor = self.cursors.get(name)
        try:
            with open_file(self.files[name]) as file:
                lines = Lines(file, cursor.offset if cursor else 0)
                row = cursor.rows if cursor else 0
                for block in lines.blocks():
                    for line in block.splitlines():
                        yield row, line
                        row += 1
                self.cursors[name] = lines.cursor(row)
        except Unreadable as error:
            self.unread.append(str(error))

    def close(self, recording: Recording) -> Recording:
        """The recording, with what has been learned about the files."""
        recording.resume, recording.replaces = self.cursors, self.replaces
        recording.unread += self.unread
        return recording
