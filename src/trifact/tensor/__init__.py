"""The mathematics: factor tables, loss, regularizers, optimizers and ranks (torch only).

No files, no configuration, no printing. A *query* is (entity, predicate) with reciprocal ids:
with P predicates, q < P asks for the objects of (entity, q, ?) and q >= P for the subjects of
(?, q - P, entity).
"""
