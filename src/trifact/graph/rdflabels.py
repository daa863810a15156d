"""Labels in RDF: which statements give one, and which of several is shown."""

from __future__ import annotations

import pyoxigraph as ox

PREDICATES = (
    "http://www.w3.org/2000/01/rdf-schema#label",
    "http://www.w3.org/2004/02/skos/core#prefLabel",
    "http://schema.org/name",
    "https://schema.org/name",
)
LONGEST = 1000  # characters; what is longer is a text


def label_of(quad: ox.Quad) -> tuple[str, str] | None:
    """The label that a statement gives its subject, and its rank; None if it gives none.

    The first by rank is shown, and of those the first by text: English before no language, before
    English of a country, before others by their tags; then in the order of `PREDICATES`.
    """
    if not isinstance(quad.object, ox.Literal) or quad.predicate.value not in PREDICATES:
        return None
    label = " ".join(quad.object.value.split())
    if not label or len(label) > LONGEST or "\0" in label:
        return None
    language = (quad.object.language or "").lower()
    group = {"en": 0, "": 1}.get(language, 2 if language.startswith("en-") else 3)
    return label, f"{group} {language} {PREDICATES.index(quad.predicate.value)}"
