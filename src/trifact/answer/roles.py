"""Who could be a subject or an object of a predicate, though train has it nowhere there.

A *role* is to be a subject, or an object, of one predicate. Subjects and objects that train has
with a predicate make sense there; but where each subject has one object, the subject that lacks it
is not among them, and it is the one to look for. Roles go together: of those with a mayor most
have a time zone. So an entity makes sense in a role if it has another one of whose holders at
least `share` have this one, too:

    |holders of both| >= share |holders of the other|.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix

from trifact.answer.options import DiscoverConfig
from trifact.answer.pairs import Pairs
from trifact.answer.single import single_sides, unanswered
from trifact.graph.graph import Graph
from trifact.graph.known import Ints
from trifact.run.candidates import Candidates, observed


def pairs_of(graph: Graph, share: float = DiscoverConfig.holders) -> Pairs:
    """All pairs of all predicates that make sense by roles, without second answers."""
    train, predicates = graph.known("train"), len(graph.predicates)
    found = unanswered(likely(graph, share), train, single_sides(train))
    return Pairs(found, np.arange(predicates), predicates)


def likely(graph: Graph, share: float) -> Candidates:
    """By predicate (reciprocal ids) the entities that make sense as answers, ascending."""
    holders = _holders(observed(graph), len(graph.entities))
    both = (holders.T @ holders).tocoo()  # how many entities have two roles
    sizes = both.diagonal()
    follows = both.data >= share * sizes[both.row]
    rules = csr_matrix((both.data[follows], (both.row[follows], both.col[follows])), both.shape)
    found = csc_matrix(holders @ rules)
    found.sort_indices()
    return Candidates(found.indptr.astype(np.int64), found.indices.astype(np.int64))


def _holders(roles: Candidates, entities: int) -> csr_matrix:
    """One where an entity (row) has a role (column)."""
    sizes: Ints = np.diff(roles.offsets)
    column = np.repeat(np.arange(len(sizes)), sizes)
    ones = np.ones(len(column), dtype=np.int64)
    return csr_matrix((ones, (roles.entities, column)), (entities, len(sizes)))
