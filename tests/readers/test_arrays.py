"""NumPy's own files."""

import io
import pickle
import struct
import zipfile
from typing import Any

import numpy as np
import pytest

from firstbreak.readers import Unreadable, npy, npz
from tests.readers.files import file_of, points, read


def saved(array: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def archived(**arrays: Any) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


EVALUATIONS = archived(
    timesteps=np.array([1000, 2000]),
    results=np.array([[1.0, 3.0], [10.0, np.nan]]),
    ep_lengths=np.array([[100, 300], [500, 500]]),
)


def test_evaluations_are_summed_up_per_timestep():
    recording = read(npz, EVALUATIONS, "evaluations.npz")
    assert recording.indexed_by == "step"
    assert points(recording, "results/mean") == [(1000, 2), (2000, "nan")]
    assert points(recording, "results/std")[0] == (1000, 1)
    assert points(recording, "results/min")[0] == (1000, 1)
    assert points(recording, "results/max")[0] == (1000, 3)
    assert points(recording, "results/count") == [(1000, 2), (2000, 2)]
    assert points(recording, "ep_lengths/mean") == [(1000, 200), (2000, 500)]


def test_an_archive_without_a_step_axis_is_indexed_by_row():
    recording = read(npz, archived(reward=np.array([1.0, 2.0])), "out.npz")
    assert recording.indexed_by == "row"
    assert points(recording, "reward") == [(0, 1), (1, 2)]


def test_arrays_that_are_no_curves_are_mentioned():
    recording = read(npz, archived(timesteps=np.arange(2), image=np.zeros((2, 3, 4)), odd=np.zeros(5)), "out.npz")
    assert not recording.curves
    assert recording.notes == ["image: shape (2, 3, 4) is no curve, left out", "odd: shape (5,) is no curve, left out"]


@pytest.mark.parametrize("cut", [1, 30, 200, -5])
def test_a_cut_archive_asks_to_try_again(cut: int):
    with file_of(EVALUATIONS[:cut], "evaluations.npz") as path, pytest.raises(Unreadable, match="try again"):
        npz.read(path)


def test_a_zip_bomb_is_refused_before_it_is_unpacked():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("results.npy", bytes(1 << 20))
    claim = out.getvalue().replace(struct.pack("<I", 1 << 20), struct.pack("<I", 600 << 20))
    with file_of(claim, "evaluations.npz") as path, pytest.raises(Unreadable, match="unpacks to 600 MiB"):
        npz.read(path)


def test_unusual_compression_is_refused():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("results.npy", saved(np.zeros(2)))
    with file_of(out.getvalue(), "evaluations.npz") as path, pytest.raises(Unreadable, match="NumPy does not write"):
        npz.read(path)


class Explosive:
    """Something that must never be unpickled."""

    fired = False

    def __reduce__(self) -> tuple[Any, ...]:
        return (setattr, (Explosive, "fired", True))


def test_pickled_objects_are_refused_and_never_loaded():
    array = np.array([Explosive()], dtype=object)
    for reader, data, name in ((npz, archived(results=array), "evaluations.npz"), (npy, saved(array), "a.npy")):
        with file_of(data, name) as path, pytest.raises(Unreadable, match="never loaded"):
            reader.read(path)
    assert not Explosive.fired
    pickle.loads(pickle.dumps(Explosive()))
    assert Explosive.fired, "the explosive works"


def test_a_bare_array_is_one_curve():
    recording = read(npy, saved(np.array([-1.5, 2.5])), "TD3_Hopper_0.npy")
    assert recording.indexed_by == "row"
    assert points(recording, "value") == [(0, -1.5), (1, 2.5)]


def test_the_columns_of_a_two_dimensional_array_are_curves():
    recording = read(npy, saved(np.asfortranarray([[1, 2], [3, 4]])), "a.npy")
    assert points(recording, "column 1") == [(0, 1), (1, 3)]
    assert points(recording, "column 2") == [(0, 2), (1, 4)]


@pytest.mark.parametrize(
    ("array", "problem"),
    [
        (np.array(["text"]), "no numbers"),
        (np.array([1j]), "no numbers"),
        (np.zeros((2, 2, 2)), "no table"),
        (np.float64(1), "no table"),
        (np.zeros((1, 5000)), "no table"),
    ],
)
def test_other_arrays_are_refused(array: Any, problem: str):
    with file_of(saved(array), "a.npy") as path, pytest.raises(Unreadable, match=problem):
        npy.read(path)


def test_a_header_that_claims_too_much_is_not_believed():
    for shape, problem in ((b"(99999999999,), }", "claims"), (b"(2000,), }", "is cut"), (b"(2**40,), }", "no plain")):
        lie = saved(np.zeros(2)).replace(b"(2,), }".ljust(len(shape)), shape)
        with file_of(lie, "a.npy") as path, pytest.raises(Unreadable, match=problem):
            npy.read(path)


def test_an_array_is_called_what_its_file_says():
    assert points(read(npy, saved(np.array([-1.5, 2.5])), "reinforce_rewards.npy"), "rewards") == [(0, -1.5), (1, 2.5)]
