"""The texts of the sources that users read in a browser: the lists of `tests.sentences`.

Add a new module to MODULES if its sentences reach a page. Add a text of those modules that is never
shown there to NOT_DISPLAYED. A text that is combined from parts by anything but an f-string's own
alternatives must be spelled out in SPELT_OUT (sentence_spelt.py).
tests/unit/portal/i18n/test_sentences.py reports missing and obsolete entries.
"""

import re

MODULES = (
    "portal/errors/*.py",
    "portal/config/origin_check.py",
    "portal/api/*.py",
    "portal/directory/*.py",
    "portal/services/*.py",
    "portal/services/*/*.py",
    "portal/background/*.py",
    "portal/health/checks/[a-d]*.py",
    "portal/health/checks/gpus.py",
    "portal/health/checks/hub.py",
    "portal/health/checks/launcher.py",
    "portal/health/checks/mail.py",
    "portal/health/checks/nginx.py",
    "portal/health/checks/slurm.py",
    "portal/health/result.py",
    "portal/health/status.py",
    "portal/leader/forward.py",
    "portal/streaming/sse.py",
    "portal/web/*.py",
    "spawner/slurm/accounting.py",
    "spawner/launcher/pool.py",
    "spawner/containers/apptainer.py",
    "spawner/catalog/app.py",
    "spawner/catalog/benchmarks.py",
    "spawner/catalog/environment.py",
    "spawner/launcher/connection.py",
    "spawner/command.py",
    "spawner/launcher/file_pool.py",
    "spawner/files/*.py",
    "spawner/files/jobs/*.py",
    "spawner/catalog/own_script.py",
    "spawner/catalog/sbatch_import.py",
    "spawner/containers/image_file.py",
    "spawner/catalog/jobscript.py",
    "spawner/launcher/program.py",
    "spawner/node/apps/app.py",
    "spawner/node/apps/declared.py",
    "spawner/node/apps/session_apps.py",
    "spawner/node/jupyter/session_sources.py",
    "spawner/node/portal_client.py",
    "spawner/node/node_setup.py",
    "spawner/node/session.py",
    "spawner/node/tensorboard.py",
    "spawner/node/jupyter/terminal_link.py",
    "spawner/node/terminals.py",
    "spawner/catalog/parameters.py",
    "spawner/containers/pull.py",
    "spawner/containers/pull_output.py",
    "spawner/slurm/reasons/*.py",
    "spawner/containers/references.py",
    "spawner/containers/runtimes.py",
    "spawner/slurm/client.py",
    "spawner/catalog/template.py",
)
# E-mails contain both languages themselves; the node programs' routes, the API's description and
# `portal check` are in English only.
OTHERS = (
    "portal/api/node.py",
    "portal/api/node_apps.py",
    "portal/api/node_job_ssh.py",
    "portal/api/node_jobs.py",
    "portal/web/openapi.py",
    "portal/api/session_use.py",
    "portal/services/mail/messages.py",
    "portal/services/mail/texts.py",
    "portal/health/checks/certificates.py",
)

# fields of the catalog's files (spawner/catalog) that contain displayed texts
CATALOG_PLACES = frozenset({"title", "description", "hint"})

# marks of texts that are never displayed: headers, types, commands
NOT_DISPLAYED_LIKE = tuple(
    re.compile(pattern)
    for pattern in (
        r"\n",
        r"^Bearer ",
        r"^[A-Z_0-9 {}]+$",
        r"^(attachment|bytes|default-src|sandbox|private|public|text|img-src|font-src)\b.*[;,=/' ]",
        r"charset=|\\b|\S\|\S",
        r" is (missing or )?malformed$| is out of range$| is too long$",
        r"^(# |export |in_env |exec |JPY_|RANK |[a-z]+_proxy )",
        r"^(Invalid|Requested|Required) (account|feature|job|node|partition|qos|res|time|user)",
        r"^(Creating|Downloading|Extracting|Fetching|While) .*(SIF|oras|OCI|oci)",
        r"^[a-z]+ \{0\}$",  # one of the program's tasks, by its subject
    )
)

# Texts with which Slurm, Apptainer, slapd and the launcher report to the portal, names of tasks and
# of log events, and texts only in the logs of the machine's administrators.
NOT_DISPLAYED = frozenset(
    {
        "A notebook, to be saved.",
        "Access/permission denied",
        "Batch script is empty",
        "DOS line breaks",
        "Data Scientist Portal {0}",
        "Memory specification can not be satisfied",
        "More processors requested than permitted",
        "No certificate: {0}.",
        "Node count specification invalid",
        "Slurm temporarily unable to accept job",
        "Slurm's job with this ID is a different one.",
        "The next number that the portal gives out; never set it back",
        "The portal runs; its pages are not installed.",
        "This address requires the TensorBoard's secret.",
        "This address requires the session's secret.",
        "This address requires the internal secret.",
        "Value error, ",
        "a download was cut off: the login has ended",
        "already completing or completed",
        "audit retention",
        "called home",
        "change: {0} {1}",
        "checked before",
        "cluster history",
        "connecting to the portal failed unexpectedly",
        "dependency problem",
        "directory sync",
        "does not look like a batch script",
        "error fetching image to cache: ",
        "got the hub's environment",
        "group not permitted to use this partition",
        "home commands",
        "job retention",
        "launch failed",
        "launcher.conf must be owned by root and writable only by root",
        "launcher.conf must hold exactly {0}",
        "login: {0}",
        "no certificate now: {0}",
        "no file is open",
        "no such operation",
        "node table",
        "nodes not in this partition",
        "not a message",
        "not a number",
        "not a request: {0}",
        "not permitted",
        "old mail",
        "only a running job can start a step",
        "only a submitted job has steps",
        "password change: {0}",
        "permission denied",
        "portal-disabled shell={0} locked={1}",
        "prctl failed",
        "real, effective and saved ids differ",
        "refused for uid {0}",
        "refused logins",
        "removed sessions",
        "refused the login",
        "refused the sender address",
        "requeued held",
        "search: {0} {1}",
        "second factor",
        "server gave HTTP response to HTTPS client",
        "session usage",
        "too short",
        "too young",
        "watcher changes",
        "{0} doesn't hold a key of {1} bytes in base64",
        "{0}/{1}: the earlier one is still stopping",
    }
)

# Parts of sentences, of one word or of a number and a word.
PIECES = frozenset(
    {
        "Association",
        "CPUs",
        "GPUs",
        "Responding.",
        "licenses",
        "line {0}",
        "memory",
        "nodes",
        "time",
    }
)
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August"),
    *("September", "October", "November", "December"),
)
EXTRA = (
    "Home",  # portal.config.files.HOME
    *("class", "outputs"),  # choices of batch-inference.yaml
    *("a list", "a minute", "a number", "a string"),
    *(
        f"{{0}} {word}{plural}"
        for word in (
            *("CPU", "GPU", "character", "day", "element", "hour", "job", "minute", "mistake"),
            *("node", "problem", "session"),
        )
        for plural in ("", "s")
    ),
    *(f"{{0}} hour{h} {{1}} minute{m}" for h in ("", "s") for m in ("", "s")),
    *(f"{{0}} day{d} {{1}} hour{h}" for d in ("", "s") for h in ("", "s")),
    *(f"{{0}} day{d} {{1}} minute{m}" for d in ("", "s") for m in ("", "s")),
    *(
        f"{{0}} day{d} {{1}} hour{h} {{2}} minute{m}"
        for d in ("", "s")
        for h in ("", "s")
        for m in ("", "s")
    ),
    # the system's messages about a file or a connection, and Slurm's about a node
    "Connection refused",
    "Connection timed out",
    "Disk quota exceeded",
    "Input/output error",
    "Name or service not known",
    "No route to host",
    "No space left on device",
    "No such file or directory",
    "Node unexpectedly rebooted",
    "Not a directory",
    "Not responding",
    "Permission denied",
    "Read-only file system",
    "Stale file handle",
    "{0} GB of memory",
    *(f"{{0}} {month}, {{1}} UTC" for month in _MONTHS),
    *(f"{{0}} {month} {{1}} at {{2}}" for month in _MONTHS),
)
