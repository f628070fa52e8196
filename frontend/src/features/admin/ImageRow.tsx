import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Paper, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, unwrap } from '@/api/client';
import type { ImportedImage } from '@/api/types';
import { joinWithCommas } from '@/i18n/lists';
import { mayChange } from '@/lib/roles';
import { sizeText } from '@/lib/sizes';
import { useMe } from '@/lib/useMe';
import { ConfirmDialog } from '@/ui/ConfirmDialog';
import { Time } from '@/ui/Time';
import classes from './ImagesPage.module.css';
import { imagesQuery } from './queries';

/** One file of the import folder: its origin, and the sessions and jobs that use it. */
export function ImageRow({ image }: { image: ImportedImage }) {
  const change = mayChange(useMe());
  return (
    <Paper component="li" className={classes.row}>
      <div>
        <div className={classes.file}>
          {image.file} <span className={classes.quiet}>{sizeText(image.size_bytes)}</span>
        </div>
        <div className={classes.quiet}>
          {image.reference ?? t`This file was not imported through the portal.`}
        </div>
        {image.imported_at && (
          <div className={classes.quiet}>
            {image.imported_by}, <Time at={image.imported_at} />
          </div>
        )}
        <div className={classes.quiet}>
          {image.environments.length === 0
            ? t`No environment uses it.`
            : usedText(image.environments)}
        </div>
        {image.sha256 && (
          <div className={`${classes.quiet} ${classes.digest}`}>sha256:{image.sha256}</div>
        )}
      </div>
      {change && image.reference && <Delete image={image} />}
    </Paper>
  );
}

function usedText(environments: readonly string[]): string {
  const names = joinWithCommas(environments);
  return t`${plural(environments.length, {
    one: 'Used by # environment',
    other: 'Used by # environments',
  })}: ${names}`;
}

function Delete({ image }: { image: ImportedImage }) {
  const queries = useQueryClient();
  const [confirming, setConfirming] = useState(false);
  const { file } = image;
  const names = joinWithCommas(image.environments);
  const params = { path: { file } };

  const remove = async (): Promise<void> => {
    await unwrap(api.DELETE('/api/v1/admin/catalog/images/{file}', { params }));
    notifications.show({ message: t`${file} is deleted.` });
    await queries.invalidateQueries(imagesQuery);
  };

  return (
    <>
      <Button
        variant="subtle"
        color="red"
        c="var(--bad)"
        size="compact-sm"
        onClick={() => setConfirming(true)}
        aria-label={t`Delete ${file}`}
      >
        <Trans>Delete</Trans>
      </Button>
      <ConfirmDialog
        title={t`Delete ${file}?`}
        opened={confirming}
        onClose={() => setConfirming(false)}
        act={remove}
        button={t`Delete it`}
        keep={t`Keep it`}
        size="sm"
        danger
      >
        <Text size="sm">
          {image.environments.length === 0
            ? t`No environment uses it. It can be imported again.`
            : t`${names} can't be started until it is imported again.`}
        </Text>
      </ConfirmDialog>
    </>
  );
}
