"""Readers of intents, on small files."""

import json

import pytest

from film.datasets import read_banking77, read_clinc150
from film.text import text_hash


def test_clinc150_is_read_without_what_is_out_of_scope(tmp_path):
    path = tmp_path / "data.json"
    lists = {
        "train": [["Hi there", "greeting"], ["bye", "farewell"], ["hi there!", "greeting"]],
        "oos_train": [["why", "oos"]],
        "test": [["see you", "farewell"]],
    }
    path.write_text(json.dumps(lists))
    data = read_clinc150(path, {text_hash("see you")})
    assert data.texts.tolist() == ["Hi there", "bye"]
    assert data.intents.tolist() == ["greeting", "farewell"]
    assert (data.n_excluded, data.n_repeated, len(data)) == (1, 1, 2)


@pytest.mark.parametrize("content", ["[]", "{", '{"train": [["text"]]}', '{"a": [["", "b"]]}'])
def test_another_json_is_refused(tmp_path, content):
    path = tmp_path / "data.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"not a JSON object of lists of \[text, intent\]"):
        read_clinc150(path)


def test_banking77_is_read_from_several_files(tmp_path):
    first, second = tmp_path / "train.csv", tmp_path / "test.csv"
    first.write_text('text,category\n"Where, please?",place\nWhen?,time\n')
    second.write_text("text,category\nwhere please,place\nWho?,person\n")
    data = read_banking77([first, second], {text_hash("when")})
    assert data.texts.tolist() == ["Where, please?", "Who?"]
    assert (data.n_excluded, data.n_repeated) == (1, 1)
    second.write_text("text,category\nWho?,\n")
    with pytest.raises(ValueError, match="line 2: the text or the category is missing"):
        read_banking77([second])
    second.write_text("question,label\nWho?,a\n")
    with pytest.raises(
        ValueError, match="lacks the columns text, category; its header has question"
    ):
        read_banking77([second])
    second.write_text("text,category\nWho,a\rb\n", newline="")
    with pytest.raises(ValueError, match=r"test\.csv, line 2: broken quoting or line end"):
        read_banking77([second])
    with pytest.raises(TypeError, match="one path"):
        read_banking77(str(first))
