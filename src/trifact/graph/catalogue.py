"""The benchmarks of the field: their sizes, licences, sources and checksums."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Benchmark:
    """A graph that papers report on. `urls` and `checksums` go train, valid, test."""

    name: str
    entities: int
    predicates: int
    train: int
    valid: int
    test: int
    licence: str
    source: str
    """Where it is from, for people."""
    urls: tuple[str, str, str]
    """One text file a split."""
    checksums: tuple[str | None, str | None, str | None]
    """SHA-256 of each split's text, decompressed, with LF line ends; None where unknown."""
    archive: str | None = None
    """A .tar.gz with the same three files, for when the text files cannot be had."""

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Facts of train, valid and test."""
        return self.train, self.valid, self.test


GITHUB = "https://raw.githubusercontent.com"
# Commits and a release where there is a choice: those files stay where they are.
KGE = (
    f"{GITHUB}/DeepGraphLearning/KnowledgeGraphEmbedding"
    "/2e440e0f9c687314d5ff67ead68ce985dc446e3a/data"
)
CODEX = f"{GITHUB}/tsafavi/codex/3132e426c2a6b643b70bad679905a3a6270be440/data/triples"
PYKEEN = f"{GITHUB}/pykeen/pykeen/v1.11.1/src/pykeen/datasets"
CONVE = f"{GITHUB}/TimDettmers/ConvE/master"


def _files(folder: str) -> tuple[str, str, str]:
    return f"{folder}/train.txt", f"{folder}/valid.txt", f"{folder}/test.txt"


_ALL = (
    # name, entities, predicates, train, valid, test
    Benchmark(
        *("WN18", 40_943, 18, 141_442, 5_000, 5_000),
        licence="WordNet 3.0 licence",
        source="wordnet-mlj12 of Bordes et al. 2013"
        ", from DeepGraphLearning/KnowledgeGraphEmbedding",
        urls=_files(f"{KGE}/wn18"),
        checksums=(
            "24c9b02dc57d3ae8ca8467ce355995edee7be8eddc3bd070ee34d3c6fc3c95eb",
            "13347bfb5e17d1cae003e0bfe29b4716d3ab748e8cfb6af997138d37da3a51dc",
            "d22c19d176d4ba6a6f0d0c6bfce39ab3c16e3b20e1df6f9efe0d9ed86542fa10",
        ),
    ),
    Benchmark(
        *("WN18RR", 40_943, 11, 86_835, 3_034, 3_134),
        licence="MIT (repository), WordNet 3.0 licence (data)",
        source="Dettmers et al. 2018, TimDettmers/ConvE"
        ", from DeepGraphLearning/KnowledgeGraphEmbedding",
        urls=_files(f"{KGE}/wn18rr"),
        checksums=(
            "038612e783c215ee5f3ca9fbfca27b8d0739be1028fe4ee7c174aecf0b83d5df",
            "453ce7202afa58094a04d2b1560ee2b02660f1c260b32ce6651c8ccedd1028ab",
            "0383bceaaa1096cf3c03ec021ed0048068e2355dbfc0239b292cefdac821cec5",
        ),
        archive=f"{CONVE}/WN18RR.tar.gz",
    ),
    Benchmark(
        *("FB15K", 14_951, 1_345, 483_142, 50_000, 59_071),
        licence="CC BY 2.5 (Freebase)",
        source="Bordes et al. 2013, from DeepGraphLearning/KnowledgeGraphEmbedding",
        urls=_files(f"{KGE}/FB15k"),
        checksums=(
            "f9cdfd2685f6483bd3a499d433919b15d62f0715c6cf18b2ca30c2aa5c47a704",
            "471929cde9cf74b1caa8348c2b601c8010d6b2f2a56bae49b4ebfd14c9bce855",
            "5b60b4de325482c3368e22d0b7452d465b09a610fea0ce3768d8b1e8b5a7e42a",
        ),
    ),
    Benchmark(
        *("FB15K-237", 14_541, 237, 272_115, 17_535, 20_466),
        licence="MIT (repository), CC BY 2.5 (Freebase)",
        source="Toutanova and Chen 2015, as in TimDettmers/ConvE"
        ", from DeepGraphLearning/KnowledgeGraphEmbedding",
        urls=_files(f"{KGE}/FB15k-237"),
        checksums=(
            "61099230e4439f90885ca9767739e31e8e32f54736fa1c35952b27997bc7c08a",
            "749cbe9d923bac7b9354da5614ecfed2e0220256d442c3e04a6b303db1f273d9",
            "e2e35e8e6113de220140b6f44dc71a5207b0fc6872d575e874aefe13259b655b",
        ),
        archive=f"{CONVE}/FB15k-237.tar.gz",
    ),
    Benchmark(
        *("YAGO3-10", 123_182, 37, 1_079_040, 5_000, 5_000),
        licence="MIT (repository), CC BY 3.0 (YAGO3)",
        source="Dettmers et al. 2018, TimDettmers/ConvE"
        ", from DeepGraphLearning/KnowledgeGraphEmbedding",
        urls=_files(f"{KGE}/YAGO3-10"),
        checksums=(
            "afb9b51c68d1c997e85655477045b4c5146cd2a6b50b6eea5373383f35dcb12a",
            "c9018b77ec77e99f8d48bc3258d404f10b2049a6c7b4ac6eb663697e799dc6f5",
            "003887ca8a34c90fcaf9b0250b1c30a4b5f617f80f8cf0aeab9723333061598a",
        ),
        archive=f"{CONVE}/YAGO3-10.tar.gz",
    ),
    Benchmark(
        *("CoDEx-S", 2_034, 42, 32_888, 1_827, 1_828),
        licence="MIT (repository), CC0 (Wikidata)",
        source="Safavi and Koutra 2020, tsafavi/codex",
        urls=_files(f"{CODEX}/codex-s"),
        checksums=(
            "64f93b7f314f3936a6f65739721429db3f6a7c8f5a1e1104ec3bb544f7434f59",
            "3831c0e57daef03c3a18cdd1a72e370b496f696c5218883d35c7d2ab8a6a772c",
            "27127fcb34688c4778e88a39ef3c9b540807da846021e9d9685660ac1838aca1",
        ),
    ),
    Benchmark(
        *("CoDEx-M", 17_050, 51, 185_584, 10_310, 10_311),
        licence="MIT (repository), CC0 (Wikidata)",
        source="Safavi and Koutra 2020, tsafavi/codex",
        urls=_files(f"{CODEX}/codex-m"),
        checksums=(
            "d99c3437ab51690391a26d96976adf6e5494dba7ef6902e77000551bfa566556",
            "11c323096367354940846b9ed940c5dabddc1d20a70474222babe7e7fd28b28d",
            "0575ce05e4ce915e395bb4f708e8df9547989dd4c8c71407cbfd78c19daffcf7",
        ),
    ),
    Benchmark(
        *("CoDEx-L", 77_951, 69, 551_193, 30_622, 30_622),
        licence="MIT (repository), CC0 (Wikidata)",
        source="Safavi and Koutra 2020, tsafavi/codex",
        urls=_files(f"{CODEX}/codex-l"),
        checksums=(None, None, None),
    ),
    Benchmark(
        *("Nations", 14, 55, 1_592, 199, 201),
        licence="MIT (repository)",
        source="pykeen/pykeen, src/pykeen/datasets",
        urls=_files(f"{PYKEEN}/nations"),
        checksums=(
            "0830fa9da8e5bba2ccdaa45b7bdc9130451ba66b09ff2708f35fccaf82473e57",
            "2b337a62e51a2f45c283eac98a70d21b7e0e102136be1539b2a52c652a7b0530",
            "3971085165b47b6aeaec68058c6d8d98b3005e929db81268410b95ae4db770ab",
        ),
    ),
    Benchmark(
        *("Kinship", 104, 25, 8_544, 1_068, 1_074),
        licence="MIT (repository)",
        source="pykeen/pykeen, src/pykeen/datasets",
        urls=_files(f"{PYKEEN}/kinships"),
        checksums=(
            "738612111a6acf0e39662bde24c7e72a4d1edf20931beea077da367dda689731",
            "c56f8630a583178b1e569f11a64aa535ae1ce0b0912d8b1e24716be2b37f04da",
            "05e5733265761d55be9c05bfaff5a8d0808df46f9c1e9d66cc3f2fe114e43d88",
        ),
    ),
    Benchmark(
        *("UMLS", 135, 46, 5_216, 652, 661),
        licence="MIT (repository)",
        source="pykeen/pykeen, src/pykeen/datasets",
        urls=_files(f"{PYKEEN}/umls"),
        checksums=(
            "873ef4925516b83e7f6f8cc02b4be51d848828710a7f65a956f0ac4a9e452f35",
            "025c98f8a4891e2a6582ec5b40ee0d904031edad9c52554522f4b7904820c98e",
            "a7eb529a3d2810fcc96341ccc97c625a5e202f8389673aa6bd317eeebbb79014",
        ),
    ),
)

BENCHMARKS: dict[str, Benchmark] = {benchmark.name: benchmark for benchmark in _ALL}
