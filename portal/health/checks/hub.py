"""Check of JupyterHub."""

from portal.context import AppContext
from portal.health.result import CheckResult, failing, sentence
from portal.hub.client import HubNotReady, HubRefused

SUGGESTION = (
    "Check that JupyterHub is running, and check hub_url and hub_token_file. Open notebooks "
    "continue; new sessions wait."
)
FAKE_NAME = "portal-check"


async def check_hub(context: AppContext) -> CheckResult:
    """Check that the hub answers.

    At the command line, check the permissions of the portal's token, too. The hub logs each such
    request for a user that it does not know.
    """
    try:
        version = await context.hub.version()
        if not context.is_serving:
            await context.hub.server_state(FAKE_NAME, FAKE_NAME)
    except HubRefused as error:
        return failing(f"JupyterHub refuses the portal: {sentence(str(error))}", SUGGESTION)
    except HubNotReady as error:
        cause = str(error)[:300]
        return failing(f"No answer from {context.settings.hub_url}.", SUGGESTION, details=(cause,))
    return CheckResult(text="Responding.", version=version or None)
