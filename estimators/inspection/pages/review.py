"""Page on which a person says which pairs are duplicates."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from estimators.inspection.pages.base import script_of, template, whole_page


def review_page(data: Mapping[str, Any], *, title: str = "Review") -> str:
    """Return a page that asks about pairs and estimates precision and recall from the answers.

    Parameters
    ----------
    data : dict
        From `estimators.cli.labelling.page.review_data`. Not changed.
    title : str, default="Review"
        Title and heading of the page.

    Returns
    -------
    html : str
        For `estimators.inspection.write_page`. Answers are stored in the browser until they are
        downloaded, for the same pairs in the same order.

    See Also
    --------
    duplicates_page : Describes the protection against hostile texts.
    """
    key = hashlib.sha256(json.dumps(data).encode()).hexdigest()
    script = script_of("words.js", "common.js", "review.js")
    return whole_page(title, template("review.html"), script=script, data={**data, "key": key})
