"""Which texts of the sources are said to people in a browser: the lists of `tests.sentences`.

A new module whose sentences reach a page belongs into MODULES. A text of those modules that nobody
reads there belongs into NOT_SAID, and one that is put together from parts by anything but an
f-string's own alternatives is spelt out in SPELT_OUT (sentence_spelt.py).
tests/unit/test_sentences.py says what is missing in these lists, and what they name that isn't in
the sources any more.
"""

import re

MODULES = (
    "portal/errors/*.py",
    "portal/ppolicy.py",
    "portal/api/*.py",
    "portal/directory/*.py",
    "portal/services/*.py",
    "portal/services/*/*.py",
    "portal/reconcile.py",
    "portal/smtp.py",
    "spawner/accounting.py",
    "spawner/agent.py",
    "spawner/apptainer.py",
    "spawner/benchmarks.py",
    "spawner/catalog.py",
    "spawner/channel.py",
    "spawner/command.py",
    "spawner/file_agents.py",
    "spawner/filer/*.py",
    "spawner/freescript.py",
    "spawner/imagefile.py",
    "spawner/jobscript.py",
    "spawner/launcher.py",
    "spawner/node/desk.py",
    "spawner/node/home.py",
    "spawner/node/place.py",
    "spawner/node/session.py",
    "spawner/node/tensorboard.py",
    "spawner/node/terminal_link.py",
    "spawner/node/terminals.py",
    "spawner/parameters.py",
    "spawner/pull.py",
    "spawner/pulltext.py",
    "spawner/reasons.py",
    "spawner/references.py",
    "spawner/runtimes.py",
    "spawner/shelltext.py",
    "spawner/slurm.py",
    "spawner/templates.py",
)
# E-mails have both languages in themselves; the routes of the node programs and the API's
# description are English.
OTHERS = (
    "portal/api/node.py",
    "portal/api/schema.py",
    "portal/api/session_use.py",
    "portal/services/mail/letter*.py",
)

# Fields of the catalog's files (spawner/catalog) whose texts are shown.
CATALOG_PLACES = frozenset({"title", "description"})

# What marks a text that is for no eye, whatever else it says: headers, types, commands.
NOT_SAID_LIKE = tuple(
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
        r"^[a-z]+ \{0\}$",  # a task of the program, by what it is about
    )
)

# Words in which Slurm, Apptainer, slapd and the launcher tell the portal something, names of tasks
# and of log events, and what only administrators of the machine read in its logs.
NOT_SAID = frozenset(
    {
        "{0} doesn't hold a key of {1} bytes in base64",
        "{0}/{1}: the earlier one is still stopping",
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
        "Slurm's job of this id is another one.",
        "The portal runs; its pages are not installed.",
        "The next number that the portal gives out; never set it back",
        "This address wants a TensorBoard's own secret.",
        "This address wants a session's own secret.",
        "This address wants the internal secret.",
        "second factor",
        "Value error, ",
        "a download was cut off: the login has ended",
        "already completing or completed",
        "already finished",
        "called home",
        "calling home failed unexpectedly",
        "change: {0} {1}",
        "checked before",
        "dependency problem",
        "does not look like a batch script",
        "error fetching image to cache: ",
        "got the hub's environment",
        "group not permitted to use this partition",
        "launch failed",
        "launcher.conf must be root's, and writable by root alone",
        "launcher.conf must hold exactly {0}",
        "login: {0}",
        "look at {0}",
        "no certificate now: {0}",
        "no file is open",
        "no such operation",
        "nodes not in this partition",
        "not a message",
        "not a number",
        "not a request: {0}",
        "not permitted",
        "only a job that runs somewhere can take a step",
        "password change: {0}",
        "permission denied",
        "portal-disabled shell={0} locked={1}",
        "prctl failed",
        "real, effective and saved ids differ",
        "refused for uid {0}",
        "requeued held",
        "search: {0} {1}",
        "server gave HTTP response to HTTPS client",
        "too short",
        "too young",
    }
)

# Pieces of sentences, of one word or of what the sources put together from a number and a word.
PIECES = frozenset(
    {
        "Association",
        "CPUs",
        "GPUs",
        "licences",
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
    "Home",  # settings_files.HOME
    *("class", "outputs"),  # what batch-inference.yaml lets one choose
    *("a list", "a minute", "a number", "a text"),
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
    "Let both keep time by the same server: chrony, or systemd-timesyncd.",  # check_clocks.ADVICE
    # what the system says of a file or a connection, and Slurm of a node
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
    "{0} h",
    "{0} h {1} min",
    *(f"{{0}} {month}, {{1}} UTC" for month in _MONTHS),
    *(f"{{0}} {month} {{1}} at {{2}}" for month in _MONTHS),
)
