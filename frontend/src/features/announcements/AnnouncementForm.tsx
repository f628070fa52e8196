import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Checkbox, Group, Stack, Textarea, TextInput } from '@mantine/core';
import { ApiError, fieldMessage, sentence } from '@/api/problem';
import type { AdminAnnouncement } from '@/api/types';
import { editConflictText } from '@/features/admin/editConflict';
import { clock } from '@/lib/clock';
import { localTime } from '@/lib/time';
import { useDraft } from '@/lib/useFormDraft';
import type { Level } from '@/live/types';
import { ChoiceCard } from '@/ui/ChoiceCard';
import { Notice } from '@/ui/Notice';
import { RestoredNotice } from '@/ui/RestoredForm';
import { useSaving } from '@/ui/useSaving';
import { AnnouncementCard } from './AnnouncementCard';
import classes from './Announcements.module.css';
import {
  changedFields,
  type Draft,
  draftOf,
  formErrors,
  isEditedDraft,
  LEVELS,
  MAX_TITLE,
  newDraft,
  rebase,
  toBody,
} from './form';
import { announce, editAnnouncement, freshAnnouncement } from './queries';

interface Props {
  /** the announcement to edit; null for a new one */
  before: AdminAnnouncement | null;
  onDone: () => void;
  onStartOver: () => void;
}

const FIELDS = ['title', 'text', 'level', 'starts_at', 'ends_at', 'public'];

/** The form of an announcement, with a preview. */
export function AnnouncementForm({ before, onDone, onStartOver }: Props) {
  const writing = useDraft(
    `announcement ${before?.id ?? 'new'}`,
    () => ({ base: before, draft: before === null ? newDraft() : draftOf(before) }),
    isEditedDraft,
  );
  const { base, draft } = writing.draft;
  const done = (): void => {
    writing.kept.drop();
    onDone();
  };

  const save = async (): Promise<void> => {
    const body = base === null ? null : changedFields(base, draft);
    if (base === null) await announce(toBody(draft));
    else if (body && Object.keys(body).length > 0)
      await editAnnouncement(base.id, base.version, body);
    done();
  };

  const failed = async (error: unknown): Promise<void> => {
    const conflict = error instanceof ApiError && error.slug === 'edit-conflict';
    const now = base !== null && conflict ? await freshAnnouncement(base.id) : undefined;
    if (base === null || now === undefined) return;
    writing.setDraft((typed) => ({ base: now, draft: rebase(base, now, typed.draft) }));
  };

  const saving = useSaving({ check: () => formErrors(draft), save, failed });
  const set = (change: Partial<Draft>): void =>
    writing.setDraft((before) => ({ ...before, draft: { ...before.draft, ...change } }));
  return (
    <form ref={saving.form} onSubmit={(event) => void saving.submit(event)} noValidate>
      <Stack>
        <RestoredNotice draft={writing.kept} onStartOver={onStartOver} />
        <Refusal error={saving.refusal} />
        <TextFields draft={draft} set={set} error={saving.error} />
        <Levels level={draft.level} onChoose={(level) => set({ level })} />
        <Times draft={draft} set={set} error={saving.error} />
        <section aria-label={t`Preview`}>
          <div className={classes.quiet}>
            <Trans>Everyone will see:</Trans>
          </div>
          <AnnouncementCard
            announcement={{ ...draft, title: draft.title.trim() || t`Its title` }}
          />
        </section>
        <Group justify="flex-end">
          <Button variant="default" onClick={done}>
            <Trans>Cancel</Trans>
          </Button>
          <Button type="submit" loading={saving.busy}>
            {base === null ? (draft.starts === '' ? t`Announce` : t`Schedule`) : t`Save`}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** An error that belongs to no field. */
function Refusal({ error }: { error: unknown }) {
  const shown = FIELDS.some((field) => fieldMessage(error, field) !== undefined);
  if (error === null || shown) return null;
  const conflict = editConflictText(error, (at) => localTime(at, clock.now()));
  return <Notice tone="error">{conflict ?? sentence(error)}</Notice>;
}

interface PartProps {
  draft: Draft;
  set: (change: Partial<Draft>) => void;
  error: (field: string) => string | undefined;
}

function TextFields({ draft, set, error }: PartProps) {
  return (
    <>
      <TextInput
        label={t`Title`}
        maxLength={MAX_TITLE}
        data-autofocus
        value={draft.title}
        onChange={(event) => set({ title: event.currentTarget.value })}
        error={error('title')}
      />
      <Textarea
        label={t({ message: 'Text', context: 'of an announcement' })}
        description={t`Optional details. Web addresses become links.`}
        autosize={false}
        rows={4}
        value={draft.text}
        onChange={(event) => set({ text: event.currentTarget.value })}
        error={error('text')}
      />
    </>
  );
}

function Levels({ level: chosen, onChoose }: { level: Level; onChoose: (level: Level) => void }) {
  return (
    <fieldset className={classes.levels}>
      <legend>
        <Trans>Severity</Trans>
      </legend>
      {(Object.keys(LEVELS) as Level[]).map((level) => (
        <ChoiceCard
          key={level}
          group="level"
          value={level}
          checked={chosen === level}
          onChoose={() => onChoose(level)}
          title={LEVELS[level].label}
        >
          {LEVELS[level].description}
        </ChoiceCard>
      ))}
    </fieldset>
  );
}

function Times({ draft, set, error }: PartProps) {
  return (
    <>
      <div className={classes.times}>
        <TextInput
          type="datetime-local"
          label={t({ message: 'From', context: 'a time' })}
          description={t`Leave empty to show it immediately.`}
          value={draft.starts}
          onChange={(event) => set({ starts: event.currentTarget.value })}
          error={error('starts_at')}
        />
        <TextInput
          type="datetime-local"
          label={t({ message: 'Until', context: 'a time' })}
          description={t`Leave empty to show it until someone ends it.`}
          value={draft.ends}
          onChange={(event) => set({ ends: event.currentTarget.value })}
          error={error('ends_at')}
        />
      </div>
      <Checkbox
        label={t`Also show on the login page, to everyone`}
        checked={draft.public}
        onChange={(event) => set({ public: event.currentTarget.checked })}
      />
    </>
  );
}
