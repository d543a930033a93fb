"""Links of a run lead nowhere outside of it, unless the user says where."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from firstbreak import context
from firstbreak.cli import main
from firstbreak.live.guard import bundle
from firstbreak.readers import Unreadable, opening
from firstbreak.readers.grouping import find_runs
from firstbreak.readers.read import read
from tests.closeout.test_closeout import closeout
from tests.test_cli import DEMO, healthy

SECRET = "swordfish"
SOURCE = Path(opening.__file__).parents[1]
#: opens files that are no part of a run: the user's settings, firstbreak's own files and what it has written
OF_NO_RUN = re.compile(
    r"/(preflight|experiments|evals|cli|reports|live/hooks|compare/survey|engine|knowledge)/|audit/(page|marks)"
    r"|web/(app|listen|token|pages/frame)|mcp/server|readers/(opening|_sqlite|__init__)\.py|context\.py|/(processes|plugins)\.py"
    r"|dialects/(_small|__init__)\.py"
)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "run").mkdir()
    healthy(tmp_path / "run")
    return tmp_path / "run"


def completions(run: Path, outside: Path) -> None:
    (outside / "c.jsonl").write_text(f'{{"prompt": "p", "completion": "{SECRET}", "reward": 1.0}}\n' * 9)
    (run / "completions.jsonl").symlink_to(outside / "c.jsonl")


def config(run: Path, outside: Path) -> None:
    (outside / "creds.json").write_text(f'{{"note": "{SECRET}", "learning_rate": 1}}')
    (run / "config.json").symlink_to(outside / "creds.json")


def folder(run: Path, outside: Path) -> None:
    (outside / "metrics.csv").write_text("step,secret\n" + "".join(f"{i},{i}\n" for i in range(9)))
    (run / "logs").symlink_to(outside)


def mlflow(run: Path, outside: Path) -> None:
    store = run / "mlflow"
    store.mkdir()
    (store / "meta.yaml").write_text("status: 3\n")
    (outside / "metrics").mkdir()
    (outside / "params").mkdir()
    (outside / "metrics" / "secret").write_text("1 1 1\n")
    (outside / "params" / "key").write_text(SECRET)
    (store / "metrics").symlink_to(outside / "metrics")
    (store / "params").symlink_to(outside / "params")


def everything(run: Path) -> str:
    found = read(run)
    return repr((list(found.unknown), list(found.series), found.config, list(found.samples or ())))


@pytest.mark.parametrize("link", [completions, config, folder, mlflow])
def test_a_link_out_of_the_run_is_named_and_not_followed(
    link: Callable[[Path, Path], None], run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = run.parent / "outside"
    link(run, outside)
    assert SECRET not in everything(run)
    assert "secret" not in everything(run)
    if link is not config:
        assert any("is a link out of the folder" in line for line in read(run).damage)
    monkeypatch.setenv(opening.ALLOW, str(outside))
    assert SECRET in everything(run) or "secret" in everything(run)
    with opening.beneath(run):  # as a server does
        assert SECRET not in everything(run)
        assert "secret" not in everything(run)


def test_the_argument_itself_may_be_a_link_and_links_inside_are_followed(run: Path) -> None:
    (run.parent / "latest").symlink_to(run)
    shutil.move(run / "metrics.jsonl", run / "data")
    (run / "metrics.jsonl").symlink_to("data")
    for place in (run.parent / "latest", run.parent / "latest" / "metrics.jsonl"):
        assert "reward.mean" in read(place).series
    assert find_runs(run.parent / "latest") == [run.parent / "latest"]


def test_allow_root_follows_a_folder_of_logs(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(opening.ALLOW, "")
    folder(run, run.parent / "outside")
    with pytest.raises(SystemExit) as done:
        main(["diagnose", str(run)])
    assert done.value.code == 2
    assert "--allow-root" in " ".join(capsys.readouterr().out.split())
    with pytest.raises(SystemExit) as done:
        main(["diagnose", str(run), "--allow-root", str(run.parent / "outside")])
    assert done.value.code == 0


def test_a_folder_that_is_swapped_for_a_link_is_not_followed(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = run.parent / "outside"
    (outside / "a.csv").write_text(SECRET)
    (run / "sub").mkdir()
    (run / "sub" / "a.csv").write_text("mine")
    real = os.open

    def swapping(path: object, *rest: int, **more: int) -> int:
        if path == "sub":
            shutil.rmtree(run / "sub")
            (run / "sub").symlink_to(outside)
        return real(path, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", swapping)
    with opening.beneath(run), pytest.raises(Unreadable, match="cannot be opened"):
        opening.open_file(run / "sub" / "a.csv")


def test_the_context_and_a_bundle_are_read_from_their_folder_only(run: Path) -> None:
    (run.parent / "outside" / "c.json").write_text("{}")
    (run / context.FILE).symlink_to(run.parent / "outside" / "c.json")
    with pytest.raises(Unreadable, match="link out of the folder"):
        context.load(run)
    made = bundle.write(run / "incidents", "one", {"a.bin": b"x"}, {})
    shutil.move(made / "a.bin", run.parent / "outside" / "a.bin")
    (made / "a.bin").symlink_to(run.parent / "outside" / "a.bin")
    with pytest.raises(Unreadable, match="link out of the folder"):
        bundle.read(made)


def test_a_close_out_takes_nothing_from_outside(tmp_path: Path) -> None:
    run, out = tmp_path / "run", tmp_path / "out"
    shutil.copytree(DEMO, run)
    (run / "checkpoint-120").mkdir()
    (run / "checkpoint-120" / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "id_rsa").write_text(SECRET)
    (run / "checkpoint-120" / "notes.txt").symlink_to(tmp_path / "id_rsa")
    (run / "checkpoint-120" / "home").symlink_to(tmp_path)
    result = closeout(run, "-o", out, "--ledger", tmp_path / "none.db")
    assert "notes.txt: is a link out of the folder" in " ".join(result.output.split())
    copied = {path.name: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert "model.safetensors" in copied
    assert not any(SECRET.encode() in data for data in copied.values())


def test_nothing_else_opens_a_file_of_a_run() -> None:
    opens = re.compile(
        r"(?<![\w.])open\(|\.open\((?!\w*(member|member_|name|_VERSION|_MEMBER)\))|read_text\(|read_bytes\(|np\.load\("
    )
    found = [
        f"{path.relative_to(SOURCE)}:{number}: {line.strip()}"
        for path in SOURCE.rglob("*.py")
        if not OF_NO_RUN.search(f"/{path.relative_to(SOURCE)}")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if opens.search(line) and not re.search(r'"[wxa]\+?b?"|open\(folder, os', line)
    ]
    assert found == []
