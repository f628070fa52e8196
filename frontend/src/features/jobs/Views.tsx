import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Menu, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { escapeInvisible } from '@/lib/escapeInvisible';
import { ConfirmDialog, DialogShell } from '@/ui/ConfirmDialog';
import { Icon } from '@/ui/icons';
import { offerUndo } from '@/ui/offerUndo';
import type { JobsSearch } from './search';
import classes from './TableTools.module.css';
import type { TablePreferences } from './useTablePreferences';
import {
  checkViewName,
  currentView,
  type JobsView,
  LONGEST_NAME,
  MAX_VIEWS,
  renamedView,
  restoredView,
  searchOf,
  toView,
  withoutView,
} from './views';

interface Props {
  search: JobsSearch;
  preferences: TablePreferences;
}

/** The menu of the saved views: filters, order, grouping and columns under a name. */
export function ViewsButton({ search, preferences }: Props) {
  const { views, columns, setColumns } = preferences;
  const [dialog, setDialog] = useState<'save' | 'manage' | null>(null);
  const navigate = useNavigate();
  const current = currentView(views, search, columns);
  const show = (view: JobsView): void => {
    setColumns(view.columns);
    void navigate({ to: '/jobs', search: searchOf(view) });
  };
  const close = (): void => setDialog(null);
  return (
    <>
      <Menu position="bottom-end" width={250} shadow="md">
        <Menu.Target>
          <Button variant="default" leftSection={<Icon name="save" />}>
            <span className={classes.viewName}>
              {current ? t`View: ${{ name: escapeInvisible(current.name) }}` : t`Views`}
            </span>
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {views.map((view) => (
            <Menu.Item
              key={view.name}
              leftSection={view === current ? <Icon name="check" /> : undefined}
              aria-current={view === current ? 'true' : undefined}
              onClick={() => show(view)}
            >
              {escapeInvisible(view.name)}
            </Menu.Item>
          ))}
          {views.length > 0 && <Menu.Divider />}
          <Menu.Item
            leftSection={<Icon name="plus" />}
            disabled={views.length >= MAX_VIEWS}
            onClick={() => setDialog('save')}
          >
            <Trans>Save as a view…</Trans>
          </Menu.Item>
          {views.length > 0 && (
            <Menu.Item onClick={() => setDialog('manage')}>
              <Trans>Rename or delete views…</Trans>
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      <SaveDialog opened={dialog === 'save'} onClose={close} {...{ search, preferences }} />
      <ManageDialog opened={dialog === 'manage'} onClose={close} preferences={preferences} />
    </>
  );
}

interface DialogProps {
  opened: boolean;
  onClose: () => void;
  preferences: TablePreferences;
}

function SaveDialog({ opened, onClose, search, preferences }: DialogProps & Props) {
  const { views, columns, setViews } = preferences;
  return (
    <NameDialog
      title={t`Save as a view`}
      button={t`Save`}
      initial=""
      {...{ opened, onClose, views }}
      act={(name) => setViews([...views, toView(name, search, columns)])}
    />
  );
}

interface NameProps {
  title: string;
  button: string;
  initial: string;
  opened: boolean;
  onClose: () => void;
  views: readonly JobsView[];
  act: (name: string) => Promise<unknown>;
}

function NameDialog({ title, button, initial, opened, onClose, views, act }: NameProps) {
  const [name, setName] = useState(initial);
  const problem = checkViewName(views, name, initial);
  return (
    <ConfirmDialog
      {...{ title, button, opened }}
      onClose={() => {
        setName(initial);
        onClose();
      }}
      act={() => act(name.trim())}
      disabled={name.trim() === '' || problem !== null}
    >
      <TextInput
        label={t`Name`}
        description={t`A view keeps the filters, the order, the groups and the columns.`}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        error={problem}
        maxLength={LONGEST_NAME}
        data-autofocus
      />
    </ConfirmDialog>
  );
}

function ManageDialog({ opened, onClose, preferences }: DialogProps) {
  const { views, setViews } = preferences;
  const [renaming, setRenaming] = useState<string | null>(null);
  const remove = async (view: JobsView, index: number): Promise<void> => {
    const rest = withoutView(views, view.name);
    await setViews(rest);
    if (rest.length === 0) onClose();
    offerUndo(t`The view “${{ name: escapeInvisible(view.name) }}” is deleted.`, () =>
      setViews(restoredView(rest, view, index)),
    );
  };
  return (
    <DialogShell title={t`Views`} opened={opened} onClose={onClose}>
      <ul className={classes.views}>
        {views.map((view, index) => {
          const name = escapeInvisible(view.name);
          return (
            <li key={view.name} className={classes.view}>
              <span className={classes.viewName} title={name}>
                {name}
              </span>
              <Button
                variant="subtle"
                color="gray"
                aria-label={t`Rename ${name}`}
                onClick={() => setRenaming(view.name)}
              >
                <Trans>Rename…</Trans>
              </Button>
              <Button
                variant="subtle"
                color="gray"
                aria-label={t`Delete ${name}`}
                leftSection={<Icon name="trash" />}
                // the mutation shows its own errors
                onClick={() => void remove(view, index).catch(() => {})}
              >
                <Trans>Delete</Trans>
              </Button>
            </li>
          );
        })}
      </ul>
      {renaming !== null && (
        <NameDialog
          title={t`Rename a view`}
          button={t`Rename`}
          initial={renaming}
          opened
          onClose={() => setRenaming(null)}
          views={views}
          act={(name) => setViews(renamedView(views, renaming, name))}
        />
      )}
    </DialogShell>
  );
}
