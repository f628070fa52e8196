"""The resources to which jobs of this cluster are confined, with reasons."""

from __future__ import annotations

from dataclasses import dataclass

from cluster.config.render import Cluster


@dataclass(frozen=True)
class Confinement:
    resource: str
    confined: bool
    detail: str

    @property
    def line(self) -> str:
        return f"{self.resource}: {'confined' if self.confined else 'not confined'} ({self.detail})"


def assess(cluster: Cluster) -> list[Confinement]:
    """Assess GPUs (if the cluster has any), memory and cores."""
    abilities, most_cores = cluster.abilities, cluster.layout.most_cores
    by = f"cgroups v{abilities.cgroups}" if abilities.cgroups else ""
    missing = f"no cgroups: {abilities.no_cgroups}"
    cores = missing if not by else f"a node claims {most_cores} cores, this machine has fewer"
    confinements = [
        Confinement("memory", bool(by), by or f"{missing}; jobs' memory is sampled every 5 s"),
        Confinement("cores", abilities.cores, by if abilities.cores else cores),
    ]
    if cluster.layout.most_gpus:
        confinements.insert(0, Confinement("GPUs", bool(by), by or missing))
    return confinements


def describe(cluster: Cluster) -> list[str]:
    return [f"jobs' {item.line}" for item in assess(cluster)]
