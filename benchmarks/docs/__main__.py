"""Write every committed page, the list of all, the pictures, and the tables of what is known: `python -m benchmarks.docs`."""

from benchmarks.docs import BUILT, PAGES, ROOT, navigation, pictures
from benchmarks.size import place
from firstbreak import dialects, readers
from firstbreak.engine import index, registry


def main() -> None:
    for name, made in PAGES.items():
        page = ROOT / "docs" / name
        page.parent.mkdir(parents=True, exist_ok=True)
        place(page).write_text(made().rstrip() + "\n", "utf-8")
        print(f"docs/{name}")
    place(pictures.PACKED).write_bytes(pictures.archive_of_all())
    print(pictures.PACKED.relative_to(ROOT))
    for table, made in (
        (index.INDEX, registry.table),
        (readers.INDEX, readers.table),
        (dialects.INDEX, dialects.table),
    ):
        place(table).write_text(made(), "utf-8")
        print(table.relative_to(ROOT))
    settings = ROOT / "mkdocs.yml"
    pages = {str(page.relative_to(ROOT / "docs")) for page in ROOT.glob("docs/**/*.md")}
    place(settings).write_text(navigation.configuration(settings.read_text("utf-8"), pages | BUILT.keys()), "utf-8")
    print("mkdocs.yml")


if __name__ == "__main__":
    main()
