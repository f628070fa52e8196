"""Whether an environment can be used here now: is there what it runs from, and the GPU it needs?"""

from portal.parts import Parts
from portal.services.slurm.feasible import no_gpu_anywhere
from spawner import catalog
from spawner.catalog import Environment

NO_GPU = "No node of this cluster has a GPU, and this environment needs one."


def availability(parts: Parts, environment: Environment) -> tuple[bool, str | None]:
    """Whether a session or job in it can start here; if not, why, in sentences for its user.

    The GPU comes first: where there is none, an administrator need not import the image. The
    nodes' drivers aren't known, so `cuda` and `min_driver` make no difference.
    """
    if environment.gpu == "required" and no_gpu_anywhere(parts.watcher.cluster):
        return False, NO_GPU
    return catalog.availability(environment)
