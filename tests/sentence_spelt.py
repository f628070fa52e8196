"""Texts combined from parts in the sources, as whole sentences: lists of `tests.sentences`.

Texts with an f-string's own alternatives need no entry. Texts that begin with a placeholder are
also spelled out, where they would contain too few words (tests/unit/portal/i18n/test_sentences.py).
"""

# parts of the texts that SPELT_OUT contains as a whole
PARTS = frozenset(
    {
        "{0} and others",
        " and {0} more",
        "The QOS",
        "Your account",
        "kept for maintenance",
        "reserved for others",
        "{0} in account {1}",
        "{0}, on {1} UTC",
        "{0}, partition {1}",
        " (a limit of your own)",
        " (it crashed)",
        " (the default limit)",
        " (the limit of your {0} {1})",
        " a time; {0} {1} now. Wait until one ends, {2}",
        " at once; this alone asks for {0}. Ask for {1}, {2}",
        " of {0}",
        ", and this would be {0} more.",
        ", at most {0}",
        ", {0} of them drained by an administrator",
        "All members of {0} together may have {1} {2} at",
        "GPU of type",
        "All members of {0} together may have {1} {2}s at",
        "TensorBoard is",
        "TensorBoards are",
        "must request",
        "lost their node",
        "ran out of memory",
        "reached their time limit",
        "were cancelled",
        "your limit",
        "your group's limit",
        "your or your group's limit",
        "job is",
        "jobs are",
        "may have",
        "or ask your administrators.",
        "session is",
        "sessions are",
        "the total limit of this QOS",
        "wait or run",
        "waits or runs",
        "{0} to AccountingStorageTRES. Until then only the portal enforces this limit.",
        "{0}; this asks for {1}. Ask for fewer, {2}",
        "{0}; {1} of yours {2} now",
    }
)

_ASK = "or ask your administrators."
_KINDS = ("a number", "a whole number", "a string", "yes or no", "a list")
SPELT_OUT: dict[str, tuple[str, ...]] = {
    # portal/services/limits/limit_rules.py: the request, and the limit's owner in parentheses
    "Your sessions and jobs may last {0} at most{1}.": (
        "Your sessions and jobs may last {0} at most.",
        "Your sessions and jobs may last {0} at most ({1}).",
    ),
    "You may use {0}: {1}{2}. {3}": ("You may use {0}: {1}.", "You may use {0}: {1} ({2})."),
    "Ask for a shorter time, {0}": (f"Ask for a shorter time, {_ASK}",),
    "Choose one of these, {0}": (f"Choose one of these, {_ASK}",),
    "You may use {0} at once{1}; this asks for": (
        "You may use {0} at once; this asks for {1}.",
        "You may use {0} at once ({1}); this asks for {2}.",
    ),
    "{0} Ask for {1}, {2}": (f"Ask for fewer, {_ASK}", f"Ask for less, {_ASK}"),
    "Your GPUs are counted by type{0}: choose one of {1}.": (
        "Your GPUs are counted by type: choose one of {0}.",
        "Your GPUs are counted by type ({0}): choose one of {1}.",
    ),
    "You may use {0} GPU of type {1} at once": (
        "You may use {0} GPU of type {1} at once; this asks for {2}.",
        "You may use {0} GPU of type {1} at once ({2}); this asks for {3}.",
    ),
    "You may use {0} GPUs of type {1} at once": (
        "You may use {0} GPUs of type {1} at once; this asks for {2}.",
        "You may use {0} GPUs of type {1} at once ({2}); this asks for {3}.",
    ),
    "All members of {0} together may use {1}": (
        "All members of {0} together may use {1} at once; this alone asks for {2}.",
    ),
    "You may have {0} {1} at a time": (
        "You may have {0} at a time; {1} of yours waits or runs now.",
        "You may have {0} at a time; {1} of yours wait or run now.",
        "You may have {0} at a time ({1}); {2} of yours waits or runs now.",
        "You may have {0} at a time ({1}); {2} of yours wait or run now.",
    ),
    "You may have {0} {1}s at a time": (
        "You may have {0} at a time; {1} of yours waits or runs now, and this would be {2} more.",
        "You may have {0} at a time; {1} of yours wait or run now, and this would be {2} more.",
        "You may have {0} at a time ({1}); {2} of yours waits or runs now, and this would be {3}"
        " more.",
        "You may have {0} at a time ({1}); {2} of yours wait or run now, and this would be {3}"
        " more.",
        "a limit of your own",
        "the default limit",
        "the limit of your group {0}",
        "the limit of your groups {0}",
        "All members of {0} together may have {1} at a time; {2} waits or runs now.",
        "All members of {0} together may have {1} at a time; {2} wait or run now.",
        f"Wait until one ends, {_ASK}",
    ),
    "{0} Stop one, {1}": (f"Stop one, {_ASK}",),
    "{0} Submit fewer, {1}": (f"Submit fewer, {_ASK}",),
    # portal/services
    "{0}{1} would lose this image. Wait for their end, or stop them first.": (
        "{0} would lose this image. Wait for their end, or stop them first.",
    ),
    "Partition {0}{1}": ("Partition {0}", "Partition {0}, at most {1}"),
    "Slurm doesn't count GPUs of type {0} separately: add gres/gpu:{1}": (
        "Slurm doesn't count GPUs of type {0} separately: add gres/gpu:{1} to "
        "AccountingStorageTRES.",
        "Until then only the portal enforces this limit.",
    ),
    "Line {0}{1} can't be read: a quotation mark is missing or misplaced.": (
        "Line {0} can't be read: a quotation mark is missing or misplaced.",
    ),
    "{0} {1} being ended.": (
        "{0} session is being ended.",
        "{0} sessions are being ended.",
        "{0} job is being ended.",
        "{0} jobs are being ended.",
        "{0} TensorBoard is being ended.",
        "{0} TensorBoards are being ended.",
    ),
    "{0}, none down{1}.": (
        *(
            f"{{0}} node{plural}, none down{drained}."
            for plural in ("", "s")
            for drained in ("", ", {1} of them drained by an administrator")
        ),
    ),
    "{0} of {1} down: {2}.": tuple(
        f"{{0}} of {{1}} node{plural} down: {{2}}{more}."
        for plural in ("", "s")
        for more in ("", " and {3} more")
    ),
    "{0} in {1}: {2}.": tuple(
        f"{{0}} mistake{plural} in {{1}}: {{2}}{more}."
        for plural in ("", "s")
        for more in ("", " and {3} more")
    ),
    " Slurm has no node called {0}.": (
        "Slurm has no node called {0}.",
        "Slurm has no node called {0} and {1} more.",
    ),
    "{0} is the primary group of {1}. Choose another primary group for them first.": tuple(
        f"{{0}} is the primary group of {{1}}{others}. Choose another primary group for them first."
        for others in ("", " and others")
    ),
    "{0} was changed after you opened this, by {1}. Review the current values, then make "
    "your change again.": tuple(
        f"{{0}} was changed after you opened this, by {{1}}{at}. Review the current values, then"
        " make your change again."
        for at in ("", ", on {2} UTC")
    ),
    "{0} is {1} from {2}.": (
        "{0} is kept for maintenance from {1}.",
        "{0} is reserved for others from {1}.",
    ),
    "{0} {1} allows at most {2}.": (
        "Your account {0} allows at most {1}.",
        "The QOS {0} allows at most {1}.",
    ),
    # portal/services/limits/associations.py: the owner of the limit that Slurm refused
    "Slurm refused {0}: {1}": tuple(
        f"Slurm refused {place}: {{{gaps}}}"
        for place, gaps in (
            ("account {0}", 1),
            ("{0} in account {1}", 2),
            ("account {0}, partition {1}", 2),
            ("{0} in account {1}, partition {2}", 3),
        )
    ),
    "{0} of {1} tasks {2}": (
        "{0} of {1} tasks ran out of memory",
        "{0} of {1} tasks reached their time limit",
        "{0} of {1} tasks lost their node",
        "{0} of {1} tasks were cancelled",
        "{0} of {1} tasks failed",
    ),
    "There is no {0} {1}. {2}": (
        "There is no partition {0}.",
        "There is no account {0}.",
        "There is no QOS {0}.",
        "There is no GPU of type {0}.",
    ),
    "There is no {0} {1} in the directory.": (
        "There is no user {0} in the directory.",
        "There is no group {0} in the directory.",
    ),
    # spawner
    "is wrong in element {0}{1}, which ": (
        "is wrong in element {0}, which {1}",
        "{0} is wrong in element {1}, which {2}.",
        # the other texts that follow a parameter's title: "{title} {fault}."
        *(
            f"{{0}} must be {kind}{empty}."
            for kind in _KINDS
            for empty in ("", ", or be left empty")
        ),
        "{0} must be one of {1}.",
        "{0} must be at least {1}.",
        "{0} must be at most {1}.",
        "{0} must be more than {1}.",
        "{0} must be less than {1}.",
        "{0} must have at least {1}.",
        "{0} must have at most {1}.",
        "{0} must not have the same element twice.",
        "{0} has the wrong format.",
        "{0} has the wrong format ({1}).",
        "{0} has a NUL character, which no program can be given.",
        "{0} has a character that can't be written in UTF-8.",
    ),
    "has the wrong format{0}": ("has the wrong format", "has the wrong format ({0})"),
    "It requests {0} {1} than one {2} {3} here.": (
        "It requests more {0} than one job may have here.",
        "It requests more {0} than one node may have here.",
        "It requests less {0} than one job must request here.",
        "It requests less {0} than one node must request here.",
        "It requests fewer {0} than one job must request here.",
        "It requests fewer {0} than one node must request here.",
    ),
    "Ask for {0}.": ("Ask for more.", "Ask for less.", "Ask for fewer."),
    "Wait until some {0} free, or request {1}.": (
        "Wait until some is free, or request less.",
        "Wait until some are free, or request fewer.",
    ),
    "This would exceed {0} on {1}.": (
        "This would exceed your limit on {0}.",
        "This would exceed your group's limit on {0}.",
        "This would exceed your or your group's limit on {0}.",
        "This would exceed the total limit of this QOS on {0}.",
    ),
    "It reached its time limit{0} and was stopped.": (
        "It reached its time limit and was stopped.",
        "It reached its time limit of {0} and was stopped.",
    ),
    "Its node{0} failed. This was not caused by your job.": (
        "Its node failed. This was not caused by your job.",
        "Its node {0} failed. This was not caused by your job.",
    ),
    "It was ended by signal {0}{1}.": (
        "It was ended by signal {0}.",
        "It was ended by signal {0} (it crashed).",
    ),
    "{0}Write docker://host/name:tag, or oras://host/name:tag for a SIF file.": (
        "Write docker://host/name:tag, or oras://host/name:tag for a SIF file.",
    ),
    "The image of this environment can't be made from public packages.{0} An administrator can"
    " import {1} as {2}; until then choose another environment.": (
        "The image of this environment can't be made from public packages.",
        "An administrator can import {0} as {1}; until then choose another environment.",
    ),
    "There is no space left{0}. Delete files you don't need, then start again.": (
        "There is no space left. Delete files you don't need, then start again.",
        "There is no space left ({0}). Delete files you don't need, then start again.",
    ),
}
