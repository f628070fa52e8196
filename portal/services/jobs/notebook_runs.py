"""Jobs that run a notebook: the location of the executed copy. Pure.

The template notebook and its program run_notebook.py (spawner/catalog) follow the same rules.
"""

from pathlib import PurePosixPath

from portal.models import BatchJob
from portal.services.jobs.prepare import own_logdir

TEMPLATE = "notebook"


def find_executed_copy(job: BatchJob) -> str | None:
    """Return the absolute path of the executed copy, None if the job does not run a notebook.

    If the parameter `output` is a folder, the program puts the copy into it. Here a path is assumed
    to be a folder if it does not end in .ipynb.
    """
    notebook = job.parameters.get("notebook")
    if job.template != TEMPLATE or not isinstance(notebook, str) or job.workdir is None:
        return None
    name = PurePosixPath(notebook).name
    output = job.parameters.get("output")
    if not isinstance(output, str) or not output:
        return f"{own_logdir(job)}/{name}"
    home = PurePosixPath(job.workdir)
    path = home / (output.removeprefix("~/") if output.startswith("~/") else output)
    return str(path if path.suffix == ".ipynb" else path / name)
