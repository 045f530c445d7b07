import numpy as np
import pytest

from benchmarks import languages
from estimators import question_groups


@pytest.mark.parametrize("name", languages.LANGUAGES)
def test_every_language_has_the_same_task(name):
    pairs, y = languages.pairs_of(languages.LANGUAGES[name])
    assert len(pairs) == 432 and y.mean() == 0.5
    assert len({*pairs.ravel()}) == 6 * 6 * 4
    # A family has one thing, and two places.
    assert len(np.unique(question_groups(pairs))) == 18


def test_spellings_of_one_text_are_copies_where_unicode_says_so():
    same = {name: languages.copy_key(a) == languages.copy_key(b) for name, (a, b) in FORMS}
    assert [name for name, copies in same.items() if copies] == [FORMS[0][0], FORMS[1][0]]


FORMS = list(languages.FORMS.items())
