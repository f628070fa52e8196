import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, TextInput, type TextInputProps } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ApiError } from '@/api/problem';
import { seesAdmin } from '@/lib/roles';
import { useFormDraft } from '@/lib/useFormDraft';
import { useMe } from '@/lib/useMe';
import { useLive } from '@/live/store';
import { conflictNotice } from '@/ui/conflictNotice';
import { RecordForm } from '@/ui/RecordForm';
import { useRecordForm } from '@/ui/useRecordForm';
import {
  type EditedLimit,
  formErrors,
  isEditedLimit,
  type LimitValues,
  rebased,
  toApiValues,
  toLimitValues,
} from './draft';
import classes from './Limits.module.css';
import { FIELDS, LABELS } from './labels';
import { NameField } from './NameField';
import { limitChoicesQuery, limitsChanged } from './queries';
import {
  type Field,
  LISTS,
  type LimitSource,
  type ListField,
  NUMBERS,
  type NumberField,
  type Values,
} from './types';

/** A stored limit with its version. */
export type StoredLimit = Values & { version: number };

interface Props {
  source: LimitSource;
  /** the stored limit; null if there is none */
  current: StoredLimit | null;
  /** text below a field: the value that applies if it is empty, or the allowed range */
  hint?: (field: Field) => string;
  /** whether the form has a field; by default all */
  isOffered?: (field: Field) => boolean;
  /** rejects with the portal's error */
  onSave: (values: Values, version: number | null) => Promise<unknown>;
  onCancel?: (() => void) | undefined;
  /** further inputs above the button */
  children?: ReactNode;
}

const PLACEHOLDERS: Partial<Record<Field, string>> = {
  time_limit_minutes: t`hours`,
  memory_gb: 'GB',
};
/** Labels with the unit of the typed number; lists name what may be used. */
const FORM_LABELS: Record<NumberField | ListField, string> = {
  ...LABELS,
  time_limit_minutes: t`Maximum time limit, hours`,
  memory_gb: t`Memory at once, GB`,
  partitions: t`Partitions that may be used`,
  accounts: t`Slurm accounts that may be used`,
  qos: t`QOS that may be used`,
};

/** Descriptions are below the inputs, so that the inputs of a row stay aligned. */
const COMMON = {
  autoComplete: 'off',
  autoCapitalize: 'none',
  spellCheck: false,
  inputWrapperOrder: ['label', 'input', 'description', 'error'],
} satisfies TextInputProps;

/** The form of one limit. An empty field is unset. */
export function LimitForm(props: Props) {
  const { source, current, hint = () => '', isOffered = () => true, onSave, onCancel } = props;
  const types = useLive((s) => s.cluster?.gpus)?.map((gpu) => gpu.type) ?? [];
  // After another user has saved, their values replace the untouched fields.
  const stored = toLimitValues(current, types);
  const shown = (typed: EditedLimit | null): LimitValues =>
    typed === null ? stored : rebased(typed.before, stored, typed.now);
  const form = useRecordForm<EditedLimit | null>({
    draft: useFormDraft(`limits ${source.scope} ${source.name}`),
    isValid: isEditedLimit,
    initial: () => null,
    fields: [...FIELDS, ...Object.keys(stored.types)],
    check: (typed) => formErrors(shown(typed)),
    save: (typed) => onSave(toApiValues(shown(typed), current), current?.version ?? null),
    saved: () => {
      // keep changes that were made during the request
      form.setValues((now) => (now === form.values ? null : now));
      form.discard();
    },
    failed: async (error) => {
      if (error instanceof ApiError && error.status === 409) await limitsChanged();
    },
  });
  const { error } = form;
  const draft = shown(form.values);
  const set = (change: Partial<LimitValues>): void =>
    form.setValues({ before: stored, now: { ...draft, ...change } });
  const part: PartProps = { draft, set, error, hint };
  const foot = (
    <div className={classes.foot}>
      <Button type="submit" loading={form.busy}>
        <Trans>Save</Trans>
      </Button>
      {onCancel && (
        <Button
          variant="default"
          onClick={() => {
            form.discard();
            onCancel();
          }}
        >
          <Trans>Cancel</Trans>
        </Button>
      )}
      <span className={classes.quiet}>
        <Trans>Leave empty for no limit. Enter 0 to allow none.</Trans>
      </span>
    </div>
  );
  return (
    <RecordForm form={form} foot={foot} message={conflictNotice(form.submitError)}>
      <Numbers fields={NUMBERS.filter(isOffered)} {...part} />
      <Types types={types} {...part} />
      <Names fields={LISTS.filter(isOffered)} {...part} />
      {props.children}
    </RecordForm>
  );
}

interface PartProps {
  draft: LimitValues;
  set: (change: Partial<LimitValues>) => void;
  error: (name: string) => string | undefined;
  hint: (field: Field) => string;
}

interface NumbersProps extends Omit<PartProps, 'draft' | 'set'> {
  fields: readonly NumberField[];
  draft: Pick<LimitValues, 'numbers'>;
  set: (change: Pick<LimitValues, 'numbers'>) => void;
}

/** The inputs of limits that are numbers. */
export function Numbers({ fields, draft, set, error, hint }: NumbersProps) {
  return (
    <div className={classes.fields}>
      {fields.map((field) => (
        <TextInput
          key={field}
          {...COMMON}
          inputMode="decimal"
          label={FORM_LABELS[field]}
          description={hint(field)}
          placeholder={PLACEHOLDERS[field] ?? ''}
          value={draft.numbers[field]}
          onChange={(event) =>
            set({ numbers: { ...draft.numbers, [field]: event.currentTarget.value } })
          }
          error={error(field)}
        />
      ))}
    </div>
  );
}

interface NamesProps extends PartProps {
  fields: readonly ListField[];
}

function Names({ fields, draft, set, error, hint }: NamesProps) {
  const admin = seesAdmin(useMe());
  const { data: choices } = useQuery({ ...limitChoicesQuery, enabled: admin && fields.length > 0 });
  if (fields.length === 0) return null;
  return (
    <div className={classes.fields}>
      {fields.map((field) => (
        <NameField
          key={field}
          {...COMMON}
          label={FORM_LABELS[field]}
          description={hint(field) || t`Names, separated by commas.`}
          suggestions={choices?.[field] ?? []}
          value={draft.lists[field]}
          onChange={(value) => set({ lists: { ...draft.lists, [field]: value } })}
          error={error(field)}
        />
      ))}
    </div>
  );
}

interface TypesProps extends PartProps {
  /** the cluster's GPU types, which may arrive after the form */
  types: readonly string[];
}

function Types({ types, draft, set, error, hint }: TypesProps) {
  const all = [...new Set([...types, ...Object.keys(draft.types)])];
  if (all.length === 0) return null;
  return (
    <fieldset className={classes.types}>
      <legend>
        <Trans>GPUs at once, of each type</Trans>
      </legend>
      <div className={classes.hint}>{hint('gpus_by_type')}</div>
      <div className={classes.refused}>{error('gpus_by_type')}</div>
      <div className={classes.fields}>
        {all.map((type) => (
          <TextInput
            key={type}
            label={type}
            {...COMMON}
            inputMode="numeric"
            value={draft.types[type] ?? ''}
            onChange={(event) =>
              set({ types: { ...draft.types, [type]: event.currentTarget.value } })
            }
            error={error(`gpus_by_type.${type}`)}
          />
        ))}
      </div>
    </fieldset>
  );
}
