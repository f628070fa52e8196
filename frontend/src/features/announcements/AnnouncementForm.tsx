import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Checkbox, Textarea, TextInput } from '@mantine/core';
import { ApiError } from '@/api/problem';
import type { AdminAnnouncement } from '@/api/types';
import { useFormDraft } from '@/lib/useFormDraft';
import type { Level } from '@/live/types';
import { ChoiceCard } from '@/ui/ChoiceCard';
import { conflictNotice } from '@/ui/conflictNotice';
import { DateField } from '@/ui/DateField';
import { RecordForm } from '@/ui/RecordForm';
import { type Form, useRecordForm } from '@/ui/useRecordForm';
import { AnnouncementCard } from './AnnouncementCard';
import classes from './Announcements.module.css';
import {
  changedFields,
  type EditedValues,
  formErrors,
  isEditedValues,
  LEVELS,
  MAX_TITLE,
  newValues,
  rebase,
  toAnnouncementRequest,
  toAnnouncementValues,
} from './form';
import { announce, editAnnouncement, freshAnnouncement } from './queries';

interface Props {
  /** the announcement to edit; null for a new one */
  before: AdminAnnouncement | null;
  onDone: () => void;
}

const FIELDS = ['title', 'text', 'level', 'starts_at', 'ends_at', 'public'];

/** The form of an announcement, with a preview. */
export function AnnouncementForm({ before, onDone }: Props) {
  const form = useRecordForm({
    draft: useFormDraft(`announcement ${before?.id ?? 'new'}`),
    isValid: isEditedValues,
    initial: (): EditedValues => ({
      base: before,
      ...(before === null ? newValues() : toAnnouncementValues(before)),
    }),
    fields: FIELDS,
    check: formErrors,
    save: async ({ base, ...values }) => {
      if (base === null) return announce(toAnnouncementRequest(values));
      const body = changedFields(base, values);
      if (Object.keys(body).length > 0) await editAnnouncement(base.id, base.version, body);
    },
    saved: onDone,
    failed: async (error) => {
      const conflict = error instanceof ApiError && error.slug === 'edit-conflict';
      const now = base !== null && conflict ? await freshAnnouncement(base.id) : undefined;
      if (base === null || now === undefined) return;
      form.setValues((typed) => ({ base: now, ...rebase(base, now, typed) }));
    },
  });
  const { base, ...values } = form.values;
  const button = base === null ? (values.starts === '' ? t`Announce` : t`Schedule`) : t`Save`;
  return (
    <RecordForm
      form={form}
      button={button}
      onCancel={onDone}
      message={conflictNotice(form.submitError)}
    >
      <TextFields form={form} />
      <Levels level={values.level} onChoose={(level) => form.set({ level })} />
      <Times form={form} />
      <section aria-label={t`Preview`}>
        <div className={classes.quiet}>
          <Trans>Everyone will see:</Trans>
        </div>
        <AnnouncementCard
          announcement={{ ...values, title: values.title.trim() || t`Its title` }}
        />
      </section>
    </RecordForm>
  );
}

interface PartProps {
  form: Form<EditedValues>;
}

function TextFields({ form }: PartProps) {
  return (
    <>
      <TextInput label={t`Title`} maxLength={MAX_TITLE} data-autofocus {...form.text('title')} />
      <Textarea
        label={t({ message: 'Text', context: 'of an announcement' })}
        description={t`Optional details. Web addresses become links.`}
        autosize={false}
        rows={4}
        {...form.text('text')}
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

function Times({ form }: PartProps) {
  return (
    <>
      <div className={classes.times}>
        <DateField
          hasTime
          label={t({ message: 'From', context: 'a time' })}
          description={t`Leave empty to show it immediately.`}
          value={form.values.starts}
          onChange={(starts) => form.set({ starts })}
          error={form.error('starts_at')}
        />
        <DateField
          hasTime
          label={t({ message: 'Until', context: 'a time' })}
          description={t`Leave empty to show it until someone ends it.`}
          value={form.values.ends}
          onChange={(ends) => form.set({ ends })}
          error={form.error('ends_at')}
        />
      </div>
      <Checkbox
        label={t`Also show on the login page, to everyone`}
        checked={form.values.public}
        onChange={(event) => form.set({ public: event.currentTarget.checked })}
      />
    </>
  );
}
