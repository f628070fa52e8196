"""Check that the settings keep user content on origins of its own. Pure."""

from dataclasses import dataclass

from portal.config.settings import Settings

SUGGESTION = (
    "Set notebook_url and tensorboard_url to other ports of public_url's host or, better, "
    "to separate host names. Then run `portal system-files --install` and restart the "
    "portal, JupyterHub and nginx."
)


@dataclass(frozen=True)
class OriginProblem:
    """The reason why user content is not confined by origins, and the remedy."""

    text: str
    suggestion: str = SUGGESTION


def check_content_origins(settings: Settings) -> OriginProblem | None:
    """Return the problem with the origins of user content; None if there is none."""
    if settings.content is None:
        return OriginProblem(
            "Unsafe: notebooks and TensorBoards share the portal's origin (same_origin_content). A"
            " page in a notebook can act as the user who opens it."
        )
    if not settings.content.apart:
        return OriginProblem(
            "TensorBoards share the notebooks' origin (content_url). A shared TensorBoard that"
            " breaks its confinement reaches its viewer's notebooks."
        )
    return None
