"""The sample of people is uniform, and what is remembered of each is bounded."""

import numpy as np

from untrackable.auditing.file_audit import MOST_HASHES, PeopleSample, PersonWindow


def test_the_sample_is_uniform() -> None:
    """Each of 40 is kept by 10 of 40 with probability 1/4; 400 keys; 6 standard deviations have rate 2e-9 each."""
    kept = np.zeros(40)
    for seed in range(400):
        people = PeopleSample(10, width=1, seed=seed, keep_raw=False)
        for who in [*range(40), *range(40)]:
            people.add(str(who).encode(), None, 1)
        assert len(people) == 10
        assert all(first.count == second.count == 1 for first, second in people.in_both_windows())
        kept[[int(name) for name in people._known]] += 1
    assert kept.sum() == 4000
    assert np.all(np.abs(kept - 100) < 6 * np.sqrt(400 * 0.25 * 0.75))


def test_what_is_remembered_of_a_person_is_bounded() -> None:
    first, second = PersonWindow(), PersonWindow()
    for report in range(500):
        first.add(report, 0, keep=False)
        second.add(499 - report, 0, keep=False)
    assert len(first.hashes) == MOST_HASHES
    assert first.hashes.keys() == second.hashes.keys()
    assert first.ones.tolist() == second.ones.tolist() == [sum(r >> i & 1 for r in range(500)) for i in range(9)]
