from __future__ import annotations

import pytest

from firstbreak.readers import Unreadable, aim


def test_a_repository_is_named_with_the_way_to_export_it(tmp_path):
    folder = tmp_path / ".aim"
    assert not aim.claims(folder)
    (folder / "meta").mkdir(parents=True)
    (folder / "seqs").mkdir()
    assert aim.claims(folder)
    with pytest.raises(Unreadable, match=r"only Aim can decode; export .*to_csv"):
        aim.read(folder)
