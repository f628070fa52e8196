import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, NativeSelect, SegmentedControl, Skeleton, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useRef, useState } from 'react';
import { errorMessage, fieldMessage } from '@/api/problem';
import type { Shares } from '@/api/types';
import { DialogShell } from '@/ui/ConfirmDialog';
import { useFocusError } from '@/ui/focus';
import { TryAgain } from '@/ui/TryAgain';
import { useAction } from '@/ui/useAction';
import classes from './ShareDialog.module.css';
import {
  myGroupsQuery,
  type Parent,
  type ShareTarget,
  share,
  sharesQuery,
  unshare,
} from './sharing';

interface Props {
  parent: Parent;
  name: string;
  opened: boolean;
  onClose: () => void;
}

/** The dialog that shares a TensorBoard with users, and revokes that. */
export function ShareDialog({ parent, name, opened, onClose }: Props) {
  return (
    <DialogShell opened={opened} onClose={onClose} title={t`Share the TensorBoard of ${name}`}>
      <Body parent={parent} />
    </DialogShell>
  );
}

function Body({ parent }: { parent: Parent }) {
  const { data, error, refetch } = useQuery(sharesQuery(parent));
  return (
    <div className={classes.body}>
      <Text size="sm">
        <Trans>
          They can view its charts and images, but none of your files, logs or notebooks. They can't
          change anything, and you can stop sharing at any time.
        </Trans>
      </Text>
      <Form parent={parent} />
      {error && <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />}
      {data ? (
        <List parent={parent} shares={data} />
      ) : (
        !error && <Skeleton height={40} aria-hidden="true" />
      )}
    </div>
  );
}

function Form({ parent }: { parent: Parent }) {
  const { data: groups = [] } = useQuery(myGroupsQuery);
  const [kind, setKind] = useState<ShareTarget['kind']>('user');
  const [user, setUser] = useState('');
  const [group, setGroup] = useState<string | null>(null);
  const form = useRef<HTMLFormElement>(null);
  const focusError = useFocusError(form);
  const [message, setMessage] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const name = kind === 'user' ? user.trim() : (group ?? groups[0] ?? '');
  const showMessage = (why: string): void => {
    setMessage(why);
    focusError();
  };
  const add = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (busy) return;
    if (name === '') return showMessage(t`Enter a user name.`);
    setBusy(true);
    try {
      await share(parent, { kind, name });
      setUser('');
    } catch (error) {
      showMessage(
        fieldMessage(error, kind === 'user' ? 'username' : 'group') ??
          fieldMessage(error, 'logdir') ??
          errorMessage(error),
      );
    } finally {
      setBusy(false);
    }
  };
  return (
    <form ref={form} className={classes.form} onSubmit={(event) => void add(event)} noValidate>
      {groups.length > 0 && (
        <SegmentedControl
          aria-label={t`Share with`}
          value={kind}
          onChange={(value) => {
            setMessage(null);
            setKind(value as ShareTarget['kind']);
          }}
          data={[
            { value: 'user', label: t`A user` },
            { value: 'group', label: t`One of my groups` },
          ]}
        />
      )}
      <div className={classes.row}>
        {kind === 'user' ? (
          <TextInput
            className={classes.grow}
            label={t`User name`}
            value={user}
            onChange={(event) => {
              setMessage(null);
              setUser(event.currentTarget.value);
            }}
            error={message}
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            data-autofocus
          />
        ) : (
          <NativeSelect
            className={classes.grow}
            label={t`Group`}
            value={name}
            data={groups}
            onChange={(event) => {
              setMessage(null);
              setGroup(event.currentTarget.value);
            }}
            error={message}
          />
        )}
        <Button type="submit" loading={busy}>
          <Trans>Share</Trans>
        </Button>
      </div>
    </form>
  );
}

function List({ parent, shares }: { parent: Parent; shares: Shares }) {
  const all: ShareTarget[] = [
    ...shares.shared_groups.map((name) => ({ kind: 'group', name }) as const),
    ...shares.shared_with.map((name) => ({ kind: 'user', name }) as const),
  ];
  return (
    <section aria-labelledby="shared-list">
      <h3 id="shared-list" className={classes.heading}>
        <Trans>Shared with</Trans>
      </h3>
      <ul className={classes.list} aria-live="polite">
        <li>
          <Trans>You</Trans>
        </li>
        {all.map((target) => (
          <Row key={`${target.kind} ${target.name}`} parent={parent} target={target} />
        ))}
      </ul>
    </section>
  );
}

function Row({ parent, target }: { parent: Parent; target: ShareTarget }) {
  const [busy, run] = useAction();
  const { kind, name } = target;
  const all = kind === 'group';
  return (
    <li>
      <span>{all ? t`Everyone in ${name}` : name}</span>
      <Button
        size="compact-sm"
        variant="subtle"
        color="gray"
        loading={busy}
        onClick={() => void run(() => unshare(parent, target))}
        aria-label={all ? t`Stop sharing with everyone in ${name}` : t`Stop sharing with ${name}`}
      >
        <Trans>Stop sharing</Trans>
      </Button>
    </li>
  );
}
