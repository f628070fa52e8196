import { Button, Group, Modal, Paper, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, unwrap } from '@/api/client';
import type { ImportedImage } from '@/api/types';
import { useWithPassword } from '@/features/account/reauth';
import { mayChange } from '@/features/account/roles';
import { useMe } from '@/features/account/useMe';
import { useAct } from '@/features/sessions/useAct';
import { plural } from '@/features/sessions/words';
import { Time } from '@/ui/Time';
import classes from './ImagesPage.module.css';
import { size } from './images';
import { imagesQuery } from './queries';

/** One file of the import folder: where it came from, and who runs from it. */
export function ImageRow({ image }: { image: ImportedImage }) {
  const change = mayChange(useMe());
  return (
    <Paper component="li" className={classes.row}>
      <div>
        <div className={classes.file}>
          {image.file} <span className={classes.quiet}>{size(image.size_bytes)}</span>
        </div>
        <div className={classes.quiet}>
          {image.reference ?? 'Nobody imported this file; someone put it there.'}
        </div>
        {image.imported_at && (
          <div className={classes.quiet}>
            {image.imported_by}, <Time at={image.imported_at} />
          </div>
        )}
        <div className={classes.quiet}>
          {image.environments.length === 0
            ? 'No environment uses it.'
            : `Used by ${plural(image.environments.length, 'environment')}: ${image.environments.join(', ')}`}
        </div>
        {image.sha256 && (
          <div className={`${classes.quiet} ${classes.digest}`}>sha256:{image.sha256}</div>
        )}
      </div>
      {change && image.reference && <Delete image={image} />}
    </Paper>
  );
}

function Delete({ image }: { image: ImportedImage }) {
  const queries = useQueryClient();
  const withPassword = useWithPassword();
  const [asking, setAsking] = useState(false);
  const [busy, act] = useAct();
  const params = { path: { file: image.file } };

  const remove = async (): Promise<void> => {
    setAsking(false);
    await withPassword(() => unwrap(api.DELETE('/api/v1/admin/catalog/images/{file}', { params })));
    notifications.show({ message: `${image.file} is deleted.` });
    await queries.invalidateQueries(imagesQuery);
  };

  return (
    <>
      <Button
        variant="subtle"
        color="red"
        c="var(--bad)"
        size="compact-sm"
        loading={busy}
        onClick={() => setAsking(true)}
        aria-label={`Delete ${image.file}`}
      >
        Delete
      </Button>
      <Modal
        opened={asking}
        onClose={() => setAsking(false)}
        title={`Delete ${image.file}?`}
        size="sm"
      >
        <Text size="sm">
          {image.environments.length === 0
            ? 'No environment uses it. It can be imported again.'
            : `Nobody can start ${image.environments.join(', ')} then, until it is imported again.`}
        </Text>
        <Group justify="flex-end" mt="lg">
          <Button variant="default" onClick={() => setAsking(false)} data-autofocus>
            Keep it
          </Button>
          <Button color="red.9" onClick={() => void act(remove)}>
            Delete it
          </Button>
        </Group>
      </Modal>
    </>
  );
}
