"""The grammar behind `film.datasets.make_question_pairs`."""
