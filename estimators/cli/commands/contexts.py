"""``film contexts``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from estimators.cli import options
from estimators.cli.console import Failure, leaves, note, verbosity


@options.command(
    "film contexts books --model contexts",
    "film contexts notes.md more.txt -m contexts --generator tiny",
    "film score pairs.csv --model contexts",
)
@click.argument("docs", type=options.FILE, metavar="DOCS...", nargs=-1, required=True)
@click.option(
    "-m",
    "--model",
    type=options.FOLDER,
    metavar="FOLDER",
    required=True,
    help="New folder for the model.",
)
@click.option(
    "--contexts",
    type=click.IntRange(1),
    default=500,
    help="Contexts per sentence. Fewer are faster and less accurate.",
)
@click.option(
    "--generator",
    type=click.Choice(["none", "tiny", "small", "base", "large"]),
    default="none",
    help="Size of a network that predicts a sentence from its neighbours. It is much slower, and "
    "did not help on a few million words.",
)
@click.option("--encoding", metavar="NAME", help="Encoding of the files. Default: UTF-8.")
@options.seed
@options.device
def contexts(given: Any) -> None:
    """Learn from documents, without labels, which sentences fit the same contexts.

    DOCS are Markdown and text files, or folders of them. Two sentences have a similar meaning if
    they fit into the same contexts. Use the folder of the model in film score and film explain, or
    in film harvest to make training pairs for a faster model.
    """
    docs, model = given.docs, given.model
    for path in docs:
        if not os.path.exists(path):
            raise click.UsageError(f"DOCS {path}: there is no such file or folder")
    if os.path.exists(model) and (not os.path.isdir(model) or os.listdir(model)):
        raise click.UsageError(f"--model {model} already exists; give a new folder")
    # Loaded here: torch takes a second.
    from estimators.contexts import ContextModel
    from film.contexts import read_documents

    leaves("no model was written")
    size = None if given.generator == "none" else given.generator
    learner: Any = ContextModel(
        n_contexts=given.contexts,
        generator=size,
        device=given.device,
        random_state=given.seed,
        verbose=verbosity(),
    )
    documents: Any = docs[0]
    if given.encoding is not None:
        documents = list(read_documents(docs, encoding=given.encoding))
    elif len(docs) > 1:
        # Names in a list would be read as texts.
        documents = [Path(path) for path in docs]
    learner.fit(documents)
    learner.save(model)
    corpus = learner.corpus_
    note(
        f"wrote {model} (a ContextModel of {corpus.n_sentences:,} sentences in "
        f"{corpus.n_documents:,} documents)"
    )
    if not learner.is_complete_:
        raise Failure(f"the training was interrupted: {model} has its best weights so far")
