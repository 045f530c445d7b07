import pytest

from benchmarks import leakage


@pytest.mark.filterwarnings("ignore:FILM. not converged")
def test_folds_of_rows_leak_and_disjoint_ones_do_not():
    found = leakage.pairs_of_noise(0)
    name = "pairs, cosine of FILM: "
    assert found[name + leakage.BY_ROWS, "roc_auc"] > 0.8
    # 600 pairs in 50 families: the standard error is near 0.03.
    assert abs(found[name + leakage.DISJOINT, "roc_auc"] - 0.5) < 0.1
