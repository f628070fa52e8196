import { Button, Checkbox, Group, Stack, Textarea, TextInput } from '@mantine/core';
import { type FormEvent, useRef, useState } from 'react';
import { ApiError, fieldMessage, sentence } from '@/api/problem';
import type { AdminAnnouncement } from '@/api/types';
import { useWithPassword } from '@/features/account/reauth';
import { meanwhileText } from '@/features/admin/meanwhile';
import { clock } from '@/lib/clock';
import { localTime } from '@/lib/time';
import { useDraft } from '@/lib/useDraft';
import { ChoiceCard } from '@/ui/ChoiceCard';
import { Cancelled } from '@/ui/complain';
import { Notice } from '@/ui/Notice';
import { AnnouncementCard } from './AnnouncementCard';
import classes from './Announcements.module.css';
import type { Level } from './current';
import {
  changes,
  type Draft,
  draftOf,
  type Errors,
  formErrors,
  LEVELS,
  MAX_TITLE,
  newDraft,
  rebased,
  toBody,
} from './form';
import { announce, editAnnouncement, freshAnnouncement } from './queries';

interface Props {
  /** the one to edit; null for a new one */
  before: AdminAnnouncement | null;
  onDone: () => void;
}

const FIELDS = ['title', 'text', 'level', 'starts_at', 'ends_at', 'public'];

/** Writes an announcement, and shows it as everyone will see it. */
export function AnnouncementForm({ before, onDone }: Props) {
  const [base, setBase] = useState(before);
  const { draft, setDraft, refused } = useDraft<Draft>(`announcement/${before?.id ?? 'new'}`, () =>
    before === null ? newDraft() : draftOf(before),
  );
  const withPassword = useWithPassword();
  const form = useRef<HTMLFormElement>(null);
  const [errors, setErrors] = useState<Errors>({});
  const [refusal, setRefusal] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const set = (change: Partial<Draft>): void => {
    setErrors({});
    setDraft({ ...draft, ...change });
  };

  const save = async (): Promise<void> => {
    if (base === null) return announce(toBody(draft));
    const body = changes(base, draft);
    if (Object.keys(body).length > 0) await editAnnouncement(base.id, base.version, body);
  };

  const fail = async (error: unknown): Promise<void> => {
    if (error instanceof Cancelled) return;
    refused(error);
    setRefusal(error);
    if (!(error instanceof ApiError && error.slug === 'changed-meanwhile')) return focusProblem();
    const now = base && (await freshAnnouncement(base.id));
    if (!base || !now) return;
    setDraft(rebased(base, now, draft));
    setBase(now);
  };

  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (busy) return;
    const found = formErrors(draft);
    setErrors(found);
    setRefusal(null);
    if (Object.keys(found).length > 0) return focusProblem();
    setBusy(true);
    try {
      await withPassword(save);
      onDone();
    } catch (error) {
      await fail(error);
    } finally {
      setBusy(false);
    }
  };

  const focusProblem = (): void => {
    window.requestAnimationFrame(() =>
      form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(),
    );
  };

  const named = FIELDS.some((field) => fieldMessage(refusal, field));
  return (
    <form ref={form} onSubmit={(event) => void submit(event)} noValidate>
      <Stack>
        {refusal !== null && !named && <Refusal error={refusal} />}
        <TextInput
          label="Title"
          maxLength={MAX_TITLE}
          data-autofocus
          value={draft.title}
          onChange={(event) => set({ title: event.currentTarget.value })}
          error={errors.title ?? fieldMessage(refusal, 'title')}
        />
        <Textarea
          label="Text"
          description="If there is more to say. Web addresses become links."
          autosize={false}
          rows={4}
          value={draft.text}
          onChange={(event) => set({ text: event.currentTarget.value })}
          error={fieldMessage(refusal, 'text')}
        />
        <fieldset className={classes.levels}>
          <legend>How much it matters</legend>
          {(Object.keys(LEVELS) as Level[]).map((level) => (
            <ChoiceCard
              key={level}
              group="level"
              value={level}
              checked={draft.level === level}
              onChoose={() => set({ level })}
              title={LEVELS[level].label}
            >
              {LEVELS[level].what}
            </ChoiceCard>
          ))}
        </fieldset>
        <div className={classes.times}>
          <TextInput
            type="datetime-local"
            label="From"
            description="Empty: at once."
            value={draft.starts}
            onChange={(event) => set({ starts: event.currentTarget.value })}
            error={errors.starts_at ?? fieldMessage(refusal, 'starts_at')}
          />
          <TextInput
            type="datetime-local"
            label="Until"
            description="Empty: until someone ends it."
            value={draft.ends}
            onChange={(event) => set({ ends: event.currentTarget.value })}
            error={errors.ends_at ?? fieldMessage(refusal, 'ends_at')}
          />
        </div>
        <Checkbox
          label="Show it on the login page too, to anyone"
          checked={draft.public}
          onChange={(event) => set({ public: event.currentTarget.checked })}
        />
        <section aria-label="Preview">
          <div className={classes.quiet}>Everyone will see:</div>
          <AnnouncementCard announcement={{ ...draft, title: draft.title.trim() || 'Its title' }} />
        </section>
        <Group justify="flex-end">
          <Button variant="default" onClick={onDone}>
            Cancel
          </Button>
          <Button type="submit" loading={busy}>
            {base === null ? (draft.starts === '' ? 'Announce' : 'Plan it') : 'Save'}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function Refusal({ error }: { error: unknown }) {
  const meanwhile = meanwhileText(error, (at) => localTime(at, clock.now()));
  return <Notice tone="error">{meanwhile ?? sentence(error)}</Notice>;
}
