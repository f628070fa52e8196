"""Check of the mail server. No e-mail is sent."""

from portal.context import AppContext
from portal.db import utcnow
from portal.health.result import CheckResult, ago, failing, sentence
from portal.services.mail.smtp import MailError

SUGGESTION = (
    "Check smtp_host, smtp_port and smtp_tls, and that the server is running. E-mails wait for up "
    "to a day."
)


async def check_mail(context: AppContext) -> CheckResult | None:
    """Check that the server answers.

    At the command line, log in and offer the sender, too; a running portal reports the result of
    its last e-mail instead.
    """
    smtp = context.smtp
    if smtp is None:
        return None
    try:
        if context.is_serving:
            await smtp.check_connection()
        else:
            await smtp.check_login_and_sender()
    except MailError as error:
        return failing(sentence(str(error)), advise(str(error)))
    at = smtp.answered_at
    if smtp.trouble is not None and (at is None or at < smtp.trouble[0]):
        since = ago(smtp.trouble[0], utcnow())
        text = f"{sentence(smtp.trouble[1])} The last attempt to send was {since} ago."
        return failing(text, advise(smtp.trouble[1]), answered_at=at)
    if at is None:
        text = "Responding. No e-mail has been sent since the portal started."
        return CheckResult(text=text)
    return CheckResult(text="Responding; the last e-mail was accepted.")


def advise(cause: str) -> str:
    """Return the remedy for a mail server's error."""
    if "certificate" in cause:
        return "Set smtp_ca_file to the CA, and smtp_host to the name in the server's certificate."
    if "refused the login" in cause:
        return "Check smtp_user and smtp_password_file."
    if "refused the sender address" in cause:
        return "Check smtp_from: the server must accept it from this machine or account."
    return SUGGESTION
