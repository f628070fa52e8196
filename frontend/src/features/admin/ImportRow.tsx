import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Paper, Progress } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { ImageImport } from '@/api/types';
import { useWithPassword } from '@/features/account/reauth';
import { mayChange } from '@/features/account/roles';
import { useMe } from '@/features/account/useMe';
import { useAct } from '@/features/sessions/useAct';
import { said } from '@/i18n/said';
import { StateChip } from '@/ui/StateChip';
import { Time } from '@/ui/Time';
import classes from './ImagesPage.module.css';
import { importWords, isLiveImport, progressWords } from './images';
import { importsQuery } from './queries';

/** One import: how far it is, or how it ended. */
export function ImportRow({ row }: { row: ImageImport }) {
  const live = isLiveImport(row);
  const change = mayChange(useMe());
  return (
    <Paper component="li" className={classes.row}>
      <div>
        <div className={classes.file}>
          {row.file} <StateChip {...importWords(row)} />
        </div>
        <div className={classes.quiet}>{row.reference}</div>
        <div className={classes.quiet}>
          {row.requested_by}, <Time at={row.ended_at ?? row.created_at} />
        </div>
        {row.reason && <div className={classes.reason}>{said(row.reason)}</div>}
      </div>
      {change && live && !row.stopping && <Cancel row={row} />}
      {live && <Bar row={row} />}
    </Paper>
  );
}

/** Full of stripes where nobody knows how much is left, as while layers come. */
function Bar({ row }: { row: ImageImport }) {
  const { file } = row;
  const words = progressWords(row);
  const waiting = row.state === 'queued';
  const known = row.percent !== null;
  return (
    <div className={classes.progress}>
      <div
        role="progressbar"
        aria-label={t`Import of ${file}`}
        aria-valuetext={words}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={row.percent ?? undefined}
      >
        <Progress.Root size="sm">
          <Progress.Section
            value={waiting ? 0 : (row.percent ?? 100)}
            striped={!known}
            animated={!known && !waiting}
            withAria={false}
          />
        </Progress.Root>
      </div>
      <div className={classes.quiet}>{words}</div>
    </div>
  );
}

function Cancel({ row }: { row: ImageImport }) {
  const { file } = row;
  const queries = useQueryClient();
  const withPassword = useWithPassword();
  const [busy, act] = useAct();
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
      onClick={() => void act(cancel)}
      aria-label={t`Cancel the import of ${file}`}
    >
      <Trans>Cancel</Trans>
    </Button>
  );
}
