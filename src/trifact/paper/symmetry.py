"""What a symmetric model must get wrong: a count of facts, and the tree of the paper's appendix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from trifact.graph.graph import Graph
from trifact.graph.known import Ints, KnownAnswers
from trifact.run.questions import Questions
from trifact.run.ranktable import Bools
from trifact.tensor.models import DistMult
from trifact.tensor.ranking import ranks

CPU = torch.device("cpu")


def must_fail(graph: Graph) -> Bools:
    """Which test facts (i, j, k) a symmetric model must fail on: (n,).

    The reverse (k, j, i) is not known, and one of the entities stands on the other side of j in
    some known fact. Then two queries that have one and the same ranking ask for different answers.
    """
    test, known = graph.test, graph.known()
    predicates = len(graph.predicates)
    subject_is_object = known.counts(test[:, 0], test[:, 1] + predicates) > 0
    object_is_subject = known.counts(test[:, 2], test[:, 1]) > 0
    return ~known.contains(test[:, ::-1]) & (subject_is_object | object_is_subject)


class Tree(NamedTuple):
    """An n-ary tree of a depth; one predicate leads from a node to its children."""

    n: int
    depth: int

    @property
    def leaves(self) -> int:
        """n^d."""
        return int(self.n**self.depth)

    @property
    def internal(self) -> int:
        """Nodes that are neither the root nor a leaf: K = (n^d - n) / (n - 1)."""
        return (self.leaves - self.n) // (self.n - 1)

    @property
    def nodes(self) -> int:
        """The root, the internal nodes and the leaves."""
        return 1 + self.internal + self.leaves

    def facts(self) -> Ints:
        """(parent, 0, child), nodes numbered level by level."""
        children = np.arange(1, self.nodes)
        parents = (children - 1) // self.n
        return np.stack([parents, np.zeros_like(parents), children], axis=1)

    def expected_mrr(self) -> float:
        """The appendix: (n^d + n + K/(n+1) + K n) / (n^d + n + (n+1) K)."""
        n, k, ends = self.n, self.internal, self.leaves + self.n
        return (ends + k / (n + 1) + k * n) / (ends + (n + 1) * k)

    def scorer(self) -> DistMult:
        """A symmetric model that ranks the children of a node before its parent.

        A link scores one more than the number of its child, and nothing else scores. DistMult
        holds any symmetric matrix, by its eigenvectors.
        """
        matrix = torch.zeros(self.nodes, self.nodes, dtype=torch.float64)
        parents, _, children = torch.from_numpy(self.facts()).T
        matrix[parents, children] = matrix[children, parents] = 1.0 + children.double()
        values, vectors = torch.linalg.eigh(matrix)
        return DistMult.of({"entity": vectors.float(), "predicate": values.float().unsqueeze(0)})

    def mrr(self) -> float:
        """The filtered MRR of the symmetric scorer over all links, both sides."""
        facts = self.facts()
        known = KnownAnswers.of(facts, predicates=1)
        return ranks(self.scorer(), Questions.of(facts, known, device=CPU).asked).mrr()
