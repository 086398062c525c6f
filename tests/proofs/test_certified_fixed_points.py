"""What the search for fixed points says of a point, and what is proved of it."""

import pytest
from proofs.test_proofs import nearly_neutral, true_counts

from dynlab import schema, zoo
from dynlab.diagnostics.fixed_points import fixed_points
from dynlab.systems.textbook import LinearMap


def test_the_search_for_fixed_points_never_contradicts_the_proof():
    """Each matrix has one fixed point; the proof counts its directions, the estimate decides at most as many."""
    for seed in range(6):
        matrix = nearly_neutral(seed)
        outside, _ = true_counts(matrix)
        ds = fixed_points(LinearMap(matrix.tolist()), starts=2, certify=True)
        decided = int(outside == 0)
        assert ds["stable"].values.tolist() == ds["proved_stable"].values.tolist() == [decided], seed
        assert ds["proved_unstable_directions"].values.tolist() == [outside]
        unstable, undecided = ds["unstable_directions"].item(), ds["undecided_directions"].item()
        assert unstable <= outside <= unstable + undecided
        assert ds["status"].values.tolist() == ["fixed point"], seed


@pytest.mark.parametrize("name", ["ernn-har2-k1", "rnn-har2"])
def test_every_fixed_point_of_networks_of_the_zoo_is_proved(name):
    ds = fixed_points(zoo.load(name), starts=6, certify=True)
    told = ds["proved_unstable_directions"].values + ds["proved_stable_directions"].values
    # none of these happens to be undecided
    assert (ds["certified"].values == 1).all()
    assert set(ds["certificate_reason"].values) == {"proved"}
    assert (told == ds.sizes[schema.STATE]).all()
    # and what was estimated in double precision is what is proved
    assert ds["stable"].values.tolist() == ds["proved_stable"].values.tolist()
    assert ds["unstable_directions"].values.tolist() == ds["proved_unstable_directions"].values.tolist()
    # a proved disc is an error bound, too
    assert (ds["eigenvalue_error"].values <= ds["eigenvalue_radius"].values).all()
    assert (ds["eigenvalue_radius"].values < 1e-10).all()
