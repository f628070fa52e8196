"""The background loops of the portal that leads: their steps, intervals and topics."""

from contextlib import AsyncExitStack

from portal.background.background_loop import BackgroundLoop
from portal.background.notifier import DEPROVISION, EVERYONE, GPU_HOURS, HOMES, IMPORTS, RECONCILE
from portal.background.reconciler import ROUND_S, Reconciler
from portal.context import AppContext
from portal.db import utcnow
from portal.services.announcements import announcements
from portal.services.audit import retention
from portal.services.benchmarks import reading
from portal.services.catalog import image_importer, live_catalog
from portal.services.cluster import history, node_table_file
from portal.services.deprovision import deprovision, directory_sync
from portal.services.limits import gpu_hours
from portal.services.mail import sender
from portal.services.sessions import measurements, tidying
from portal.services.slurm import job_retention
from portal.services.users import home_commands
from spawner.launcher.pool import IDLE_S

RESTART_S = 1.0


def open_loops(context: AppContext, stack: AsyncExitStack) -> list[BackgroundLoop]:
    """Return the loops; the stack ends the tasks that their steps have started."""
    settings = context.settings
    reconcile = Reconciler(context)
    deprovisioning = deprovision.Deprovisioning(context)
    homes = home_commands.HomeCommandLoop(context)
    for service in (reconcile, deprovisioning, homes):
        stack.push_async_callback(service.close)
    sync = directory_sync.DirectorySync(context)
    sync_s = settings.directory_sweep_minutes * 60
    loops = [
        BackgroundLoop("watcher", context.watcher.run, RESTART_S),
        BackgroundLoop("watcher changes", lambda: _notify_changes(context), RESTART_S),
        BackgroundLoop("launchers", lambda: _close_idle(context), IDLE_S / 4),
        BackgroundLoop("catalog", context.catalog.refresh, live_catalog.POLL_S),
        BackgroundLoop("reconcile", reconcile.step, ROUND_S, (RECONCILE,)),
        BackgroundLoop(
            "deprovisioning",
            lambda: deprovisioning.advance(utcnow()),
            deprovision.EVERY_S,
            (DEPROVISION,),
        ),
        # Two polls are never close together: a user who is missing in both is disabled.
        BackgroundLoop("directory sync", sync.poll, sync_s, retry_s=sync_s, waits_first=True),
        BackgroundLoop("home commands", homes.step, home_commands.ROUND_S, (HOMES,)),
        BackgroundLoop("benchmarks", reading.BenchmarkReading(context).round, reading.ROUND_S),
        BackgroundLoop(
            "announcements", lambda: announcements.refresh(context), announcements.REFRESH_S
        ),
        context.slurm_limits.loop,
        BackgroundLoop(
            "usage",
            lambda: gpu_hours.step(context),
            gpu_hours.EVERY_S,
            (GPU_HOURS,),
            rest_s=gpu_hours.MIN_PAUSE_S,
            retry_s=gpu_hours.EVERY_S,
        ),
        BackgroundLoop("cluster history", lambda: history.step(context), history.EVERY_S),
        *_retention_loops(context),
    ]
    if context.node_table.file is not None:
        table = context.node_table
        loops.append(BackgroundLoop("node table", table.refresh, node_table_file.POLL_S))
    if settings.image_import_dir is not None:
        importer = image_importer.ImageImporter(context, settings.image_import_dir)
        stack.push_async_callback(importer.close)
        loops.append(BackgroundLoop("imports", importer.step, image_importer.ROUND_S, (IMPORTS,)))
    if context.smtp is not None:
        mail = sender.MailSender(context, context.smtp)
        loops.append(BackgroundLoop("mail", mail.step, sender.ROUND_S))
        loops.append(BackgroundLoop("old mail", mail.delete_old, sender.CLEANUP_S))
    return loops


def _retention_loops(context: AppContext) -> list[BackgroundLoop]:
    """Return the loops that delete or summarize what is old."""
    audit = retention.AuditKeeping(context.db, context.settings)
    return [
        BackgroundLoop(
            "removed sessions", lambda: tidying.tidy_removed(context, utcnow()), tidying.EVERY_S
        ),
        BackgroundLoop(
            "job retention",
            lambda: job_retention.delete_expired(context, utcnow()),
            job_retention.EVERY_S,
        ),
        BackgroundLoop(
            "session usage",
            lambda: measurements.delete_old_reports(context),
            measurements.DELETE_OLD_EVERY_S,
        ),
        BackgroundLoop("refused logins", lambda: audit.flush(utcnow()), retention.FLUSH_S),
        BackgroundLoop("audit retention", lambda: audit.retain(utcnow()), retention.RETAIN_S),
    ]


async def _notify_changes(context: AppContext) -> None:
    """Notify the reconcile loop and all event streams of the watcher's changes."""
    async for _ in context.watcher.subscribe():
        context.notifier.notify(RECONCILE, EVERYONE)


async def _close_idle(context: AppContext) -> None:
    for pool in context.launcher_pools:
        pool.close_idle()
