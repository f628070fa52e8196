"""Requests of a TensorBoard's program on its node: its address, and whether it is still wanted."""

import hmac

from portal.context import AppContext
from portal.db import utcnow
from portal.errors import Gone, LoginRequired
from portal.models import Tensorboard, TensorboardState
from portal.services.hashes import hash_token
from portal.services.slurm import certificates
from portal.services.slurm.placement import find_running_job, get_node_address
from portal.services.store import update_row
from portal.services.tensorboards import runs


async def authenticate(context: AppContext, board_id: str, secret: str) -> Tensorboard:
    """Return the TensorBoard with this secret. Raises LoginRequired without giving the reason."""
    async with context.db.session() as db:
        board = await db.get(Tensorboard, board_id)
    expected = board.secret_hash if board is not None else ""
    if board is None or not hmac.compare_digest(expected.encode(), hash_token(secret).encode()):
        raise LoginRequired("This address requires the TensorBoard's secret.")
    return board


async def set_address(
    context: AppContext, board: Tensorboard, port: int, csr: str | None = None
) -> str | None:
    """Record that the node program listens on `port`; its host is taken from Slurm. Returns the
    certificate for its signing request `csr`, if the site uses TLS on nodes. Raises Conflict until
    Slurm reports where the job runs, and Gone for a run that should end.
    """
    check_wanted(board)
    info = await find_running_job(context, await runs.load_host_job(context, board))
    host = get_node_address(context, info)
    name = certificates.derive_name(board)
    certificate = certificates.issue_first(context, name, csr, info)

    def modify(row: Tensorboard) -> None:
        if row.run_id == board.run_id and row.wanted:
            row.host, row.port = host, port
            row.tls_name = name if certificate else None
            row.state, row.reason = TensorboardState.RUNNING, None
            row.last_request_at = utcnow()

    await update_row(context.db, Tensorboard, board.id, modify)
    context.notifier.notify(board.user_id, board.id)
    return certificate


async def certify(context: AppContext, board: Tensorboard, csr: str) -> str:
    """Return a certificate to replace one that expires soon. Raises Gone, Conflict, InvalidInput,
    Unavailable.
    """
    check_wanted(board)
    info = await find_running_job(context, await runs.load_host_job(context, board))
    return certificates.sign(context, certificates.derive_name(board), csr, info)


async def wait_while_wanted(context: AppContext, board: Tensorboard, wait_s: float) -> None:
    """Return after `wait_s`, or raise Gone as soon as this run is no longer wanted.

    This request is also the run's heartbeat: nothing else reports a process that was killed.
    """
    requested_at, heartbeats = utcnow(), context.tensorboard_heartbeats
    async with context.notifier.listen(board.id) as listener:
        while True:
            async with context.db.session() as db:
                row = await db.get(Tensorboard, board.id)
            if row is None or row.run_id != board.run_id:
                raise Gone
            check_wanted(row)
            heartbeats[board.run_id] = max(requested_at, heartbeats.get(board.run_id, requested_at))
            if not await listener.wait(wait_s):
                return


def check_wanted(board: Tensorboard) -> None:
    """Raise Gone for a run that should end."""
    if not board.wanted:
        raise Gone


async def clear_address(context: AppContext, board: Tensorboard) -> None:
    """Record that the program ends, and clear its address: it holds its port until this request is
    answered, and no browser must be sent there afterwards. The reconcile loop ends the run once its
    allocation has ended or its heartbeats stop.
    """

    def modify(row: Tensorboard) -> None:
        if row.run_id == board.run_id:
            row.host = row.port = None

    await update_row(context.db, Tensorboard, board.id, modify)
