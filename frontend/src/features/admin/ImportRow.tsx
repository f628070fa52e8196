import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Paper, Progress } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { ImageImport } from '@/api/types';
import { translate } from '@/i18n/translate';
import { useWithPassword } from '@/lib/reauth';
import { mayChange } from '@/lib/roles';
import { useMe } from '@/lib/useMe';
import { StateChip } from '@/ui/StateChip';
import { Time } from '@/ui/Time';
import { useAction } from '@/ui/useAction';
import classes from './ImagesPage.module.css';
import { importStateLabel, isActiveImport, progressText } from './images';
import { importsQuery } from './queries';

/** One import: its progress or its outcome. */
export function ImportRow({ row }: { row: ImageImport }) {
  const isRunning = isActiveImport(row);
  const change = mayChange(useMe());
  return (
    <Paper component="li" className={classes.row}>
      <div>
        <div className={classes.file}>
          {row.file} <StateChip {...importStateLabel(row)} />
        </div>
        <div className={classes.quiet}>{row.reference}</div>
        <div className={classes.quiet}>
          {row.requested_by}, <Time at={row.ended_at ?? row.created_at} />
        </div>
        {row.reason && <div className={classes.reason}>{translate(row.reason)}</div>}
      </div>
      {change && isRunning && !row.stopping && <Cancel row={row} />}
      {isRunning && <Bar row={row} />}
    </Paper>
  );
}

/** Striped while the remaining amount is unknown, as during the download of layers. */
function Bar({ row }: { row: ImageImport }) {
  const { file } = row;
  const text = progressText(row);
  const waiting = row.state === 'queued';
  const hasProgress = row.percent !== null;
  return (
    <div className={classes.progress}>
      <div
        role="progressbar"
        aria-label={t`Import of ${file}`}
        aria-valuetext={text}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={row.percent ?? undefined}
      >
        <Progress.Root size="sm">
          <Progress.Section
            value={waiting ? 0 : (row.percent ?? 100)}
            striped={!hasProgress}
            animated={!hasProgress && !waiting}
            withAria={false}
          />
        </Progress.Root>
      </div>
      <div className={classes.quiet}>{text}</div>
    </div>
  );
}

function Cancel({ row }: { row: ImageImport }) {
  const { file } = row;
  const queries = useQueryClient();
  const withPassword = useWithPassword();
  const [busy, run] = useAction();
  const params = { path: { import_id: row.id } };
  const cancel = async (): Promise<void> => {
    await withPassword(() =>
      unwrap(api.POST('/api/v1/admin/catalog/images/imports/{import_id}/cancel', { params })),
    );
    await queries.invalidateQueries(importsQuery);
  };
  return (
    <Button
      variant="default"
      size="compact-sm"
      loading={busy}
      onClick={() => void run(cancel)}
      aria-label={t`Cancel the import of ${file}`}
    >
      <Trans>Cancel</Trans>
    </Button>
  );
}
