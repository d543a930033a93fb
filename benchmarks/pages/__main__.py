"""Write every page: `python -m benchmarks.pages`."""

from benchmarks.pages import PAGES, ROOT


def main() -> None:
    for name, made in PAGES.items():
        page = ROOT / "docs" / name
        page.parent.mkdir(exist_ok=True)
        page.write_text(made().rstrip() + "\n", "utf-8")
        print(f"docs/{name}")


if __name__ == "__main__":
    main()
