"""Models of contexts as earlier versions saved them."""

import hashlib
import io
import json

import numpy as np


def corpus_files(corpus):
    """Content of the files of a corpus, by name."""
    files = {
        "sentences.txt": "".join(f"{text}\n" for text in corpus.sentences).encode(),
        "documents.bin": corpus.documents.astype("<i4").tobytes(),
        "documents.jsonl": "".join(f"{json.dumps([name])}\n" for name in corpus.names).encode(),
        "hashes.bin": corpus.codes.astype("<i8").tobytes(),
    }
    hashes = {name: {"sha256": hashlib.sha256(each).hexdigest()} for name, each in files.items()}
    record = {"chunk_length": corpus.chunk_length, "files": hashes}
    return files | {"corpus.json": json.dumps(record).encode()}


def model_files(model):
    """Content of the files of a model in format 2, by name, and the folders of its parts."""
    from safetensors.numpy import save

    settings, kinds = model._settings, ("retrieval", "spelling", "discriminator", "generator")
    files = {f"corpus/{name}": each for name, each in corpus_files(model.corpus_).items()}
    parts = {"corpus": "corpus", "vocabulary": "vocabulary-0"}
    said = {"made_of": {"max_length": settings.get("max_length")}, "weights": None}
    said["said"] = {"tokenizer": settings.get("tokenizer")}
    files["vocabulary-0/part.json"] = json.dumps(said).encode()
    for kind in kinds:
        own = [name for name in model._arrays if name.startswith(f"{kind}.")]
        if own:
            data = save({name.partition(".")[2]: model._arrays[name] for name in own})
            parts[kind] = name = f"{kind}-0"
            digest = hashlib.blake2b(data, digest_size=16).hexdigest()
            said = {"made_of": settings.get(kind), "weights": digest}
            files[f"{name}/part.json"] = json.dumps(said).encode()
            files[f"{name}/weights.safetensors"] = data
    content = io.BytesIO()
    np.save(content, model._arrays["contexts"])
    files["discriminator-0/contexts.npy"] = content.getvalue()
    return files, parts


def write_model(model, folder, **changes):
    """Write a folder in format 2; changes are of the JSON of the model."""
    files, parts = model_files(model)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    gone = {"sides": 1, "interaction": "bilinear", "discriminator_seconds": None}
    kept = {name: getattr(model, name) for name in ("reader", "width", "n_contexts", "generator")}
    said = {
        "format": 2,
        "class": "ContextModel",
        "has_encoder": False,
        "params": kept | gone | {"prior": "corpus", "batch_size": 32},
        "seed": model._settings["seed"],
        "sides": 1,
        "parts": parts,
        "contexts": model.contexts_.tolist(),
        "losses": model.loss_curve_,
        "scores": model.scores_,
        "generator_losses": model.generator_loss_curve_,
        "generator_scores": model.generator_scores_,
        "perplexities": model.perplexities_,
        "is_complete": True,
    }
    (folder / "context_model.json").write_text(json.dumps(said | changes))
    return parts
